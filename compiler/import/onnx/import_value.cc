#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/import/onnx/import.h"
#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/import/onnx/wire_scan.h"

namespace msc {
namespace {

template <class Proto>
Proto Parse(const std::string& path, const ImportOptions& options, const char* what) {
  Proto proto;
  if (!proto.ParseFromString(ReadFile(path, options.limits.file_bytes))) {
    throw UserError("'" + path + "' does not hold an ONNX " + what + ", or was cut short");
  }
  return proto;
}

TensorPtr TensorOf(const onnx::TensorProto& proto, const std::string& path,
                   const ImportOptions& options) {
  const std::string what = "tensor of '" + path + "'";
  const std::string text = proto.SerializeAsString();
  const detail::ByteSource bytes{std::string_view(text)};
  onnx::TensorProto scanned;
  if (!scanned.ParseFromString(detail::ScanTensorWire(bytes, options.limits))) {
    throw UserError(what + " cannot be read");
  }
  detail::TensorBytes tensors(bytes, options);
  return std::make_shared<const Tensor>(
      detail::ReadTensorProto(scanned, what, {options, &tensors}));
}

RunValue SequenceIn(const onnx::SequenceProto& proto, DType dtype, const std::string& path,
                    const ImportOptions& options) {
  if (proto.elem_type() != onnx::SequenceProto::TENSOR &&
      proto.elem_type() != onnx::SequenceProto::UNDEFINED) {
    throw UserError("'" + path + "' holds a sequence of something else than tensors");
  }
  std::vector<TensorPtr> tensors;
  for (const auto& tensor : proto.tensor_values()) {
    tensors.push_back(TensorOf(tensor, path, options));
    if (dtype == DType::kUndefined) dtype = tensors.front()->dtype();
    if (tensors.back()->dtype() != dtype) {
      throw UserError("'" + path + "' holds tensors of several types");
    }
  }
  return SequenceOf(dtype, std::move(tensors));
}

}  // namespace

RunValue ImportOnnxValue(const std::string& path, const ValueType& type,
                         const ImportOptions& options) {
  if (type.container == Container::kTensor) return RunValueOf(ImportOnnxTensor(path, options));
  if (type.container == Container::kSequence) {
    return SequenceIn(Parse<onnx::SequenceProto>(path, options, "sequence"), type.dtype, path,
                      options);
  }
  const auto proto = Parse<onnx::OptionalProto>(path, options, "optional");
  RunValue value{.container = type.container, .dtype = type.dtype, .present = false};
  if (type.container == Container::kOptional && proto.has_tensor_value()) {
    value = RunValueOf(TensorOf(proto.tensor_value(), path, options));
  } else if (type.container == Container::kOptionalSequence && proto.has_sequence_value()) {
    value = SequenceIn(proto.sequence_value(), type.dtype, path, options);
  }
  value.present = type.container == Container::kOptional ? proto.has_tensor_value()
                                                         : proto.has_sequence_value();
  value.container = type.container;
  return value;
}

}  // namespace msc
