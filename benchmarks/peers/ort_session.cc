#include "benchmarks/peers/ort_session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"

namespace msc {
namespace {

std::string LibraryPath() {
  const char* given = std::getenv("MSC_ORT_LIBRARY");
  return given != nullptr ? given : "third_party/onnxruntime/libonnxruntime.so.1";
}

/// The loaded library. It stays loaded: its threads outlive its objects.
struct Library {
  const OrtApi* api = nullptr;
  std::string version;
  std::string absence;
};

Library Load() {
  const std::string path = LibraryPath();
  const auto absent = [&](const std::string& why) {
    return Library{.api = nullptr, .version = "", .absence = "ONNX Runtime is absent: " + why};
  };
  // A path with a slash is not searched in the system's folders.
  const std::string exact = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(exact.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absent(dlerror());
  using GetBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) return absent("'" + path + "' has no OrtGetApiBase");
  const OrtApiBase* base = get_base();
  Library library;
  library.version = base->GetVersionString();
  // "1.30.0" serves API 30 and every older one.
  const std::size_t dot = library.version.find('.');
  const auto newest = static_cast<std::uint32_t>(
      dot == std::string::npos ? 0 : std::strtoul(library.version.c_str() + dot + 1, nullptr, 10));
  library.api = base->GetApi(std::min<std::uint32_t>(ORT_API_VERSION, newest));
  if (library.api == nullptr) return absent("version " + library.version + " is too old");
  return library;
}

const Library& OrtLibrary() {
  static const Library loaded = Load();
  return loaded;
}

const OrtApi& Api() {
  const Library& library = OrtLibrary();
  if (library.api == nullptr) throw UserError(library.absence);
  return *library.api;
}

void CheckStatus(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = Api().GetErrorMessage(status);
  Api().ReleaseStatus(status);
  throw UserError("ONNX Runtime: " + message);
}

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

Owned<OrtEnv> MakeEnv() {
  OrtEnv* env = nullptr;
  CheckStatus(Api().CreateEnv(ORT_LOGGING_LEVEL_ERROR, "mscgym", &env));
  return {env, Api().ReleaseEnv};
}

Owned<::OrtSession> MakeSession(const OrtEnv* env, std::string_view model, int threads) {
  OrtSessionOptions* raw_options = nullptr;
  CheckStatus(Api().CreateSessionOptions(&raw_options));
  const Owned<OrtSessionOptions> options(raw_options, Api().ReleaseSessionOptions);
  CheckStatus(Api().SetIntraOpNumThreads(options.get(), threads));
  CheckStatus(Api().SetInterOpNumThreads(options.get(), 1));
  CheckStatus(Api().SetSessionGraphOptimizationLevel(options.get(), ORT_ENABLE_ALL));
  ::OrtSession* session = nullptr;
  CheckStatus(
      Api().CreateSessionFromArray(env, model.data(), model.size(), options.get(), &session));
  return {session, Api().ReleaseSession};
}

Owned<OrtMemoryInfo> MakeMemory() {
  OrtMemoryInfo* memory = nullptr;
  CheckStatus(Api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  return {memory, Api().ReleaseMemoryInfo};
}

template <class Count, class Name>
std::vector<std::string> Names(const ::OrtSession* session, Count count, Name name) {
  OrtAllocator* allocator = nullptr;
  CheckStatus(Api().GetAllocatorWithDefaultOptions(&allocator));
  std::size_t size = 0;
  CheckStatus(count(session, &size));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < size; ++i) {
    char* text = nullptr;
    CheckStatus(name(session, i, allocator, &text));
    names.emplace_back(text);
    CheckStatus(Api().AllocatorFree(allocator, text));
  }
  return names;
}

std::vector<const char*> Pointers(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

Owned<OrtValue> Wrap(const OrtMemoryInfo* memory, const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) throw UserError("strings are not passed to ONNX Runtime");
  OrtValue* value = nullptr;
  // The C interface takes a mutable pointer but reads inputs only. DType counts as ONNX does.
  auto* bytes = const_cast<std::byte*>(tensor.Raw().data());
  CheckStatus(Api().CreateTensorWithDataAsOrtValue(
      memory, bytes, tensor.bytes(), tensor.dims().data(), tensor.dims().size(),
      static_cast<ONNXTensorElementDataType>(tensor.dtype()), &value));
  return {value, Api().ReleaseValue};
}

Tensor Unwrap(OrtValue* value) {
  OrtTensorTypeAndShapeInfo* raw_type = nullptr;
  CheckStatus(Api().GetTensorTypeAndShape(value, &raw_type));
  const Owned<OrtTensorTypeAndShapeInfo> type(raw_type, Api().ReleaseTensorTypeAndShapeInfo);
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  CheckStatus(Api().GetTensorElementType(type.get(), &element));
  std::size_t rank = 0;
  CheckStatus(Api().GetDimensionsCount(type.get(), &rank));
  Dims dims(rank);
  CheckStatus(Api().GetDimensions(type.get(), dims.data(), rank));
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING || element > 16) {
    throw UserError("ONNX Runtime gave an element type that is not read here");
  }
  Tensor tensor(static_cast<DType>(element), std::move(dims));
  void* bytes = nullptr;
  CheckStatus(Api().GetTensorMutableData(value, &bytes));
  if (tensor.bytes() > 0) std::memcpy(tensor.MutableRaw().data(), bytes, tensor.bytes());
  return tensor;
}

}  // namespace

std::string OrtAbsence() {
  return OrtLibrary().absence;
}

std::string OrtVersion() {
  static_cast<void>(Api());
  return OrtLibrary().version;
}

struct OrtSession::State {
  Owned<OrtEnv> env;
  Owned<::OrtSession> session;
  Owned<OrtMemoryInfo> memory;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

OrtSession::OrtSession(std::string_view model, int threads) {
  auto env = MakeEnv();
  auto session = MakeSession(env.get(), model, threads);
  auto inputs = Names(session.get(), Api().SessionGetInputCount, Api().SessionGetInputName);
  auto outputs = Names(session.get(), Api().SessionGetOutputCount, Api().SessionGetOutputName);
  state_ = std::make_unique<State>(State{.env = std::move(env),
                                         .session = std::move(session),
                                         .memory = MakeMemory(),
                                         .inputs = std::move(inputs),
                                         .outputs = std::move(outputs)});
}

OrtSession OrtSession::FromFile(const std::string& path, int threads) {
  return {ReadFile(path), threads};
}

OrtSession::OrtSession(OrtSession&& other) noexcept = default;
OrtSession& OrtSession::operator=(OrtSession&& other) noexcept = default;
OrtSession::~OrtSession() = default;

const std::vector<std::string>& OrtSession::inputs() const {
  return state_->inputs;
}

const std::vector<std::string>& OrtSession::outputs() const {
  return state_->outputs;
}

std::vector<Tensor> OrtSession::Run(std::span<const Tensor> inputs) {
  if (inputs.size() != state_->inputs.size()) {
    throw UserError("the model has " + std::to_string(state_->inputs.size()) +
                    " inputs, and was given " + std::to_string(inputs.size()));
  }
  std::vector<Owned<OrtValue>> owned;
  std::vector<const OrtValue*> in;
  for (const Tensor& tensor : inputs) {
    owned.push_back(Wrap(state_->memory.get(), tensor));
    in.push_back(owned.back().get());
  }
  const auto in_names = Pointers(state_->inputs);
  const auto out_names = Pointers(state_->outputs);
  std::vector<OrtValue*> out(out_names.size(), nullptr);
  CheckStatus(Api().Run(state_->session.get(), nullptr, in_names.data(), in.data(), in.size(),
                        out_names.data(), out.size(), out.data()));
  std::vector<Owned<OrtValue>> made;
  made.reserve(out.size());
  for (OrtValue* value : out) made.emplace_back(value, Api().ReleaseValue);
  std::vector<Tensor> tensors;
  tensors.reserve(made.size());
  for (const auto& value : made) tensors.push_back(Unwrap(value.get()));
  return tensors;
}

}  // namespace msc
