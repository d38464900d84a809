#include "compiler/import/onnx/attribute.h"

#include <span>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/sparse_tensor.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {
namespace {

TensorPtr Shared(Tensor tensor) {
  return std::make_shared<const Tensor>(std::move(tensor));
}

TensorPtr ReadTensor(const onnx::TensorProto& proto, const std::string& what,
                     const SourceOptions& options) {
  return Shared(ReadTensorProto(proto, what, options));
}

TensorPtr StringTensor(Dims dims, std::vector<std::string> values) {
  Tensor tensor(DType::kString, std::move(dims));
  tensor.mutable_strings() = std::move(values);
  return Shared(std::move(tensor));
}

template <class T>
TensorPtr ListTensor(DType dtype, const std::vector<T>& values) {
  return Shared(Tensor::From<T>(dtype, {static_cast<std::int64_t>(values.size())}, values));
}

}  // namespace

Attr ReadAttribute(const onnx::AttributeProto& proto, const std::string& what,
                   const SourceOptions& options) {
  if (!proto.ref_attr_name().empty()) throw UserError(what + " refers to a function's attribute");
  switch (proto.type()) {
    case onnx::AttributeProto::FLOAT:
      return proto.f();
    case onnx::AttributeProto::INT:
      return std::int64_t{proto.i()};
    case onnx::AttributeProto::STRING:
      return proto.s();
    case onnx::AttributeProto::TENSOR:
      return ReadTensor(proto.t(), what, options);
    case onnx::AttributeProto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case onnx::AttributeProto::INTS:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case onnx::AttributeProto::TENSORS: {
      std::vector<TensorPtr> tensors;
      for (const auto& tensor : proto.tensors())
        tensors.push_back(ReadTensor(tensor, what, options));
      return tensors;
    }
    case onnx::AttributeProto::SPARSE_TENSOR:
      return Shared(ReadSparseTensor(proto.sparse_tensor(), what, options));
    case onnx::AttributeProto::GRAPH:
    case onnx::AttributeProto::GRAPHS:
      throw UserError(what + " is a nested graph, which import does not read yet");
    case onnx::AttributeProto::UNDEFINED:
      throw UserError(what + " does not say its type");
    default:
      throw UserError(what +
                      " is of a kind that is not supported (types, or a list of sparse tensors)");
  }
}

TensorPtr ReadConstantNode(const onnx::NodeProto& proto, const std::string& what,
                           const SourceOptions& options) {
  if (proto.attribute_size() != 1) throw UserError(what + ": needs exactly one value attribute");
  const auto& only = proto.attribute(0);
  const std::string place = what + ": attribute " + QuoteForeign(only.name());
  Attr attr = ReadAttribute(only, place, options);
  if (only.name() == "value" || only.name() == "sparse_value") {
    if (const auto* tensor = std::get_if<TensorPtr>(&attr)) return *tensor;
  } else if (only.name() == "value_float") {
    if (const auto* value = std::get_if<float>(&attr)) {
      return Shared(Tensor::From<float>(DType::kF32, {}, std::span(value, 1)));
    }
  } else if (only.name() == "value_floats") {
    if (const auto* list = std::get_if<std::vector<float>>(&attr)) {
      return ListTensor(DType::kF32, *list);
    }
  } else if (only.name() == "value_int") {
    if (const auto* value = std::get_if<std::int64_t>(&attr)) {
      return Shared(Tensor::From<std::int64_t>(DType::kI64, {}, std::span(value, 1)));
    }
  } else if (only.name() == "value_ints") {
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attr)) {
      return ListTensor(DType::kI64, *list);
    }
  } else if (only.name() == "value_string") {
    if (auto* text = std::get_if<std::string>(&attr)) return StringTensor({}, {std::move(*text)});
  } else if (only.name() == "value_strings") {
    if (auto* list = std::get_if<std::vector<std::string>>(&attr)) {
      const auto count = static_cast<std::int64_t>(list->size());
      return StringTensor({count}, std::move(*list));
    }
  }
  throw UserError(place + " is no value of a Constant");
}

}  // namespace msc::detail
