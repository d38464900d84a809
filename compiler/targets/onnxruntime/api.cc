#include "compiler/targets/onnxruntime/api.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/runtime/float_mode.h"

namespace msc::onnxruntime {
namespace {

std::string LibraryPath() {
  if (const char* given = std::getenv("MSC_ORT_LIBRARY")) {
    // dlopen searches the system's folders only for names without a slash.
    const std::string path = given;
    return path.find('/') == std::string::npos ? "./" + path : path;
  }
  return MSC_ORT_LIBRARY_PATH;  // from CMake; a bare name if CMake found no library
}

struct Library {
  const OrtApi* api = nullptr;
  std::string version = {};
  std::string absence;
};

/// Disables telemetry. From 1.29 on, released libraries report to their vendor what they run, and
/// keep a file in the user's cache that grows with every session, until it exceeds the file size
/// that a measuring child may write. The library reads the variable once, at its start. Keeps a
/// value that the user set.
void SilenceTelemetry() {
  (void)::setenv("ORT_DISABLE_TELEMETRY", "1", 0);
}

Library Load() {
  SilenceTelemetry();
  const std::string path = LibraryPath();
  const auto absent = [&](const std::string& why) {
    return Library{.api = nullptr, .absence = "ONNX Runtime is absent: " + why};
  };
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absent(dlerror());
  using GetBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) return absent("'" + path + "' has no OrtGetApiBase");
  const OrtApiBase* base = get_base();
  Library library;
  library.version = base->GetVersionString();
  // Version "1.30.0" serves API 30 and every older one.
  const std::size_t dot = library.version.find('.');
  const auto newest = static_cast<std::uint32_t>(
      dot == std::string::npos ? 0 : std::strtoul(library.version.c_str() + dot + 1, nullptr, 10));
  library.api = base->GetApi(std::min<std::uint32_t>(ORT_API_VERSION, newest));
  if (library.api == nullptr) return absent("version " + library.version + " is too old");
  return library;
}

const Library& Loaded() {
  static const Library loaded = Load();
  return loaded;
}

/// Returns the environment of the process. It is never freed, because sessions of static lifetime
/// may outlive any other owner.
const OrtEnv& Environment() {
  static const OrtEnv* const environment = [] {
    OrtEnv* made = nullptr;
    CheckStatus(Api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "mscgym", &made));
    return made;
  }();
  return *environment;
}

/// Collects what is written to a path, through a pipe: measuring children may not write files of
/// that size.
class Catcher {
 public:
  Catcher() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
    reader_ = std::thread([this] {
      std::array<char, 65536> part{};
      ssize_t size = 0;
      while ((size = ::read(ends_[0], part.data(), part.size())) > 0) {
        caught_.append(part.data(), static_cast<std::size_t>(size));
      }
    });
  }
  Catcher(const Catcher&) = delete;
  Catcher& operator=(const Catcher&) = delete;
  ~Catcher() {
    if (reader_.joinable()) (void)Take();
    ::close(ends_[0]);
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[1]); }
  /// Returns the text. Call once, after the last write.
  [[nodiscard]] std::string Take() {
    ::close(ends_[1]);
    reader_.join();
    return std::move(caught_);
  }

 private:
  std::array<int, 2> ends_{};
  std::string caught_;
  std::thread reader_;
};

template <class Count, class Name>
std::vector<std::string> Names(const OrtSession& session, Count count, Name name) {
  OrtAllocator* allocator = nullptr;
  CheckStatus(Api().GetAllocatorWithDefaultOptions(&allocator));
  std::size_t size = 0;
  CheckStatus(count(&session, &size));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < size; ++i) {
    char* text = nullptr;
    CheckStatus(name(&session, i, allocator, &text));
    names.emplace_back(text);
    CheckStatus(Api().AllocatorFree(allocator, text));
  }
  return names;
}

}  // namespace

const std::string& LibraryProblem() {
  return Loaded().absence;
}

const std::string& Version() {
  static_cast<void>(Api());
  return Loaded().version;
}

const OrtApi& Api() {
  const Library& library = Loaded();
  if (library.api == nullptr) throw UserError(library.absence);
  return *library.api;
}

void CheckStatus(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = Api().GetErrorMessage(status);
  Api().ReleaseStatus(status);
  throw UserError("ONNX Runtime: " + message);
}

Owned<OrtSession> MakeSession(std::string_view model, const SessionOptions& options) {
  OrtSessionOptions* raw = nullptr;
  CheckStatus(Api().CreateSessionOptions(&raw));
  const Owned<OrtSessionOptions> made(raw, Api().ReleaseSessionOptions);
  CheckStatus(Api().SetIntraOpNumThreads(made.get(), options.threads));
  CheckStatus(Api().SetInterOpNumThreads(made.get(), 1));
  CheckStatus(Api().SetSessionGraphOptimizationLevel(made.get(), options.level));
  CheckStatus(Api().AddSessionConfigEntry(made.get(), "session.force_spinning_stop", "1"));
  // Flush subnormal numbers on the session's threads too, as all executables do. The first session
  // sets the mode of the thread that makes it permanently; `flush` restores it.
  CheckStatus(Api().AddSessionConfigEntry(made.get(), "session.set_denormal_as_zero", "1"));
  const FlushSubnormals flush;
  // Pad_Fusion would move the zeros of a Pad into a MaxPool after it, but a MaxPool ignores its own
  // padding.
  CheckStatus(Api().AddSessionConfigEntry(made.get(), "optimization.disable_specified_optimizers",
                                          "Pad_Fusion"));
  for (const auto& [symbol, size] : options.sizes) {
    CheckStatus(Api().AddFreeDimensionOverrideByName(made.get(), symbol.c_str(), size));
  }
  std::optional<Catcher> catcher;
  if (options.optimized != nullptr) {
    catcher.emplace();
    CheckStatus(Api().SetOptimizedModelFilePath(made.get(), catcher->path().c_str()));
  }
  OrtSession* session = nullptr;
  CheckStatus(Api().CreateSessionFromArray(&Environment(), model.data(), model.size(), made.get(),
                                           &session));
  if (catcher) *options.optimized = catcher->Take();
  return {session, Api().ReleaseSession};
}

std::vector<std::string> SymbolsOf(const OrtSession& session, std::size_t input) {
  OrtTypeInfo* raw = nullptr;
  CheckStatus(Api().SessionGetInputTypeInfo(&session, input, &raw));
  const Owned<OrtTypeInfo> type(raw, Api().ReleaseTypeInfo);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;  // part of `type`
  CheckStatus(Api().CastTypeInfoToTensorInfo(type.get(), &tensor));
  if (tensor == nullptr) return {};
  std::size_t rank = 0;
  CheckStatus(Api().GetDimensionsCount(tensor, &rank));
  std::vector<const char*> names(rank, "");
  CheckStatus(Api().GetSymbolicDimensions(tensor, names.data(), rank));
  return {names.begin(), names.end()};
}

std::vector<std::string> InputNames(const OrtSession& session) {
  return Names(session, Api().SessionGetInputCount, Api().SessionGetInputName);
}

std::vector<std::string> OutputNames(const OrtSession& session) {
  return Names(session, Api().SessionGetOutputCount, Api().SessionGetOutputName);
}

Owned<OrtMemoryInfo> CpuMemory() {
  OrtMemoryInfo* memory = nullptr;
  CheckStatus(Api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  return {memory, Api().ReleaseMemoryInfo};
}

Owned<OrtValue> Wrap(const OrtMemoryInfo& memory, DType dtype, const Dims& dims, void* bytes) {
  if (dtype == DType::kString) throw UserError("strings are not passed to ONNX Runtime");
  OrtValue* value = nullptr;
  // DType has ONNX's numbers.
  CheckStatus(Api().CreateTensorWithDataAsOrtValue(
      &memory, bytes, static_cast<std::size_t>(ElementCount(dims)) * ByteSize(dtype), dims.data(),
      dims.size(), static_cast<ONNXTensorElementDataType>(dtype), &value));
  return {value, Api().ReleaseValue};
}

}  // namespace msc::onnxruntime
