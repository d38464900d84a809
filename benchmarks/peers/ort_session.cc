#include "benchmarks/peers/ort_session.h"

#include <cstring>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/targets/onnxruntime/api.h"

namespace msc {
namespace {

using onnxruntime::Api;
using onnxruntime::CheckStatus;
using onnxruntime::Owned;

std::vector<const char*> Pointers(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

Owned<OrtValue> Wrap(const OrtMemoryInfo& memory, const Tensor& tensor) {
  // The C interface takes a mutable pointer but reads inputs only.
  return onnxruntime::Wrap(memory, tensor.dtype(), tensor.dims(),
                           const_cast<std::byte*>(tensor.Raw().data()));
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
  return onnxruntime::LibraryProblem();
}

std::string OrtVersion() {
  return onnxruntime::Version();
}

struct OrtSession::State {
  Owned<::OrtSession> session;
  Owned<OrtMemoryInfo> memory;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

OrtSession::OrtSession(std::string_view model, int threads) {
  auto session = onnxruntime::MakeSession(model, {.threads = threads});
  auto inputs = onnxruntime::InputNames(*session);
  auto outputs = onnxruntime::OutputNames(*session);
  state_ = std::make_unique<State>(State{.session = std::move(session),
                                         .memory = onnxruntime::CpuMemory(),
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
    owned.push_back(Wrap(*state_->memory, tensor));
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
