#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Sequences of tensors. Source: ONNX operator pages ConcatFromSequence-11, SequenceAt-11,
// SequenceConstruct-11, SequenceEmpty-11, SequenceErase-11, SequenceInsert-11, SequenceLength-11,
// SplitToSequence-11.

namespace msc {
namespace {

using Values = std::vector<RunValue>;
using ValueInputs = std::span<const RunValue* const>;

std::vector<ValueType> OneSequence(DType dtype) {
  return {{.dtype = dtype, .container = Container::kSequence}};
}

const RunValue& SequenceAtInput(const Node& node, ValueInputs inputs, std::size_t index) {
  if (inputs[index] == nullptr || inputs[index]->container != Container::kSequence) {
    RejectNode(node, "input " + std::to_string(index) + " must be a sequence");
  }
  return *inputs[index];
}

const TensorPtr& TensorAtInput(const Node& node, ValueInputs inputs, std::size_t index) {
  if (inputs[index] == nullptr || inputs[index]->container != Container::kTensor) {
    RejectNode(node, "input " + std::to_string(index) + " must be a tensor");
  }
  return inputs[index]->tensors.front();
}

std::int64_t IntegerIn(const Node& node, const Tensor& tensor) {
  if (tensor.size() == 1 && tensor.dtype() == DType::kI64) return tensor.Values<std::int64_t>()[0];
  if (tensor.size() == 1 && tensor.dtype() == DType::kI32) return tensor.Values<std::int32_t>()[0];
  RejectNode(node, "a position must be one i32 or i64");
}

/// Returns the position in input `index`, or `otherwise` without it: from 0 to `last`, negative
/// ones count from behind the last of `count` elements.
std::size_t PositionAt(const Node& node, ValueInputs inputs, std::size_t index, std::int64_t count,
                       std::int64_t last, std::int64_t otherwise) {
  std::int64_t at = otherwise;
  if (index < inputs.size() && inputs[index] != nullptr) {
    at = IntegerIn(node, *TensorAtInput(node, inputs, index));
  }
  const std::int64_t position = at < 0 ? at + count : at;
  if (position < 0 || position > last) {
    RejectNode(node, "position " + std::to_string(at) + " is outside of the sequence of " +
                         std::to_string(count));
  }
  return static_cast<std::size_t>(position);
}

// SequenceConstruct (tensors) -> sequence

std::vector<ValueType> InferConstruct(const InferInput& in) {
  return OneSequence(TypeOf(in, 0));
}

Values EvalConstruct(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  RunValue made = SequenceOf(DType::kUndefined, {});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    made.tensors.push_back(TensorAtInput(node, inputs, i));
    if (made.tensors.back()->dtype() != made.tensors.front()->dtype()) {
      RejectNode(node, "its tensors have different types");
    }
  }
  made.dtype = made.tensors.front()->dtype();
  return {made};
}

// SequenceEmpty () -> sequence

DType TypeOfEmpty(const Node& node) {
  // Enumerators of DType equal the numbers of TensorProto.DataType.
  const std::int64_t code = AttrOr(node, "dtype", static_cast<std::int64_t>(DType::kF32));
  if (code < 1 || code > static_cast<std::int64_t>(DType::kBF16)) {
    RejectNode(node, "has an unknown type code " + std::to_string(code));
  }
  return static_cast<DType>(code);
}

std::vector<ValueType> InferEmpty(const InferInput& in) {
  return OneSequence(TypeOfEmpty(*in.node));
}

Values EvalEmpty(const Node& node, ValueInputs /*inputs*/, const CapturedValues& /*captured*/) {
  return {SequenceOf(TypeOfEmpty(node), {})};
}

// SequenceInsert (sequence, tensor, position?) -> sequence

std::vector<ValueType> InferFirst(const InferInput& in) {
  return OneSequence(TypeOf(in, 0));
}

Values EvalInsert(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  RunValue made = SequenceAtInput(node, inputs, 0);
  const TensorPtr& tensor = TensorAtInput(node, inputs, 1);
  if (made.dtype != DType::kUndefined && made.dtype != tensor->dtype()) {
    RejectNode(node, "inserts " + std::string(Name(tensor->dtype())) + " into a sequence of " +
                         std::string(Name(made.dtype)));
  }
  const std::int64_t count = std::ssize(made.tensors);
  const std::size_t at = PositionAt(node, inputs, 2, count, count, count);
  made.dtype = tensor->dtype();
  made.tensors.insert(made.tensors.begin() + static_cast<std::ptrdiff_t>(at), tensor);
  return {made};
}

// SequenceErase (sequence, position?) -> sequence

Values EvalErase(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  RunValue made = SequenceAtInput(node, inputs, 0);
  const std::int64_t count = std::ssize(made.tensors);
  const std::size_t at = PositionAt(node, inputs, 1, count, count - 1, count - 1);
  made.tensors.erase(made.tensors.begin() + static_cast<std::ptrdiff_t>(at));
  return {made};
}

// SequenceAt (sequence, position) -> tensor

std::vector<ValueType> InferAt(const InferInput& in) {
  return OneOutput(TypeOf(in, 0), std::nullopt);
}

Values EvalAt(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  const RunValue& sequence = SequenceAtInput(node, inputs, 0);
  const std::int64_t count = std::ssize(sequence.tensors);
  return {RunValueOf(sequence.tensors[PositionAt(node, inputs, 1, count, count - 1, 0)])};
}

// SequenceLength (sequence) -> i64

std::vector<ValueType> InferLength(const InferInput& /*in*/) {
  return OneOutput(DType::kI64, Shape{});
}

Values EvalLength(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  const std::int64_t count = std::ssize(SequenceAtInput(node, inputs, 0).tensors);
  return {RunValueOf(Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&count, 1)))};
}

// SplitToSequence (tensor, sizes?) -> sequence

std::vector<std::int64_t> SizesOfParts(const Node& node, const Tensor* sizes, std::int64_t all) {
  if (sizes == nullptr) return std::vector<std::int64_t>(static_cast<std::size_t>(all), 1);
  std::vector<std::int64_t> parts;
  if (sizes->dims().empty()) {
    const std::int64_t size = IntegerIn(node, *sizes);
    if (size < 1) RejectNode(node, "cannot split into parts of " + std::to_string(size));
    for (std::int64_t at = 0; at < all; at += size) parts.push_back(std::min(size, all - at));
    return parts;
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < sizes->size(); ++i) {
    const std::int64_t size = IntegerAt(*sizes, i);
    if (size < 0 || size > all - sum) RejectNode(node, "its parts do not sum to the size");
    sum += size;
    parts.push_back(size);
  }
  if (sum != all) RejectNode(node, "its parts do not sum to the size");
  return parts;
}

Values EvalSplit(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  const Tensor& x = *TensorAtInput(node, inputs, 0);
  const Tensor* sizes =
      inputs.size() < 2 || inputs[1] == nullptr ? nullptr : TensorAtInput(node, inputs, 1).get();
  const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), x.dims().size());
  const bool keeps = sizes != nullptr || AttrOr(node, "keepdims", std::int64_t{1}) != 0;
  const std::span<const std::int64_t> dims(x.dims());
  const std::int64_t outer = ElementCount(dims.first(axis));
  const std::int64_t inner = ElementCount(dims.subspan(axis + 1));
  std::int64_t first = 0;
  RunValue made = SequenceOf(x.dtype(), {});
  for (const std::int64_t size : SizesOfParts(node, sizes, x.dims()[axis])) {
    Dims part = x.dims();
    part[axis] = size;
    if (!keeps) part.erase(part.begin() + static_cast<std::ptrdiff_t>(axis));
    auto tensor = std::make_shared<Tensor>(x.dtype(), part);
    for (std::int64_t o = 0; o < outer; ++o) {
      CopyElements(x, *tensor,
                   {.from_offset = (o * dims[axis] + first) * inner,
                    .to_offset = o * size * inner,
                    .count = size * inner});
    }
    made.tensors.push_back(std::move(tensor));
    first += size;
  }
  return {made};
}

// ConcatFromSequence (sequence) -> tensor

std::vector<ValueType> InferConcat(const InferInput& in) {
  return OneOutput(TypeOf(in, 0), std::nullopt);
}

/// Calls the kernel of a tensor operator.
Tensor Call(const Node& like, const char* op, std::int64_t axis, std::vector<Tensor> tensors) {
  Node node{.name = like.name, .op = op, .attrs = {{"axis", axis}}};
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(&tensor);
  return std::move(Ops().Get(node).eval(node, inputs).front());
}

Values EvalConcat(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  const RunValue& sequence = SequenceAtInput(node, inputs, 0);
  if (sequence.tensors.empty()) RejectNode(node, "joins no tensor");
  const std::int64_t axis = AttrOr(node, "axis", std::int64_t{0});
  const bool stacks = AttrOr(node, "new_axis", std::int64_t{0}) != 0;
  const std::size_t rank = sequence.tensors.front()->dims().size() + (stacks ? 1 : 0);
  const std::size_t at = NormalAxis(node, axis, rank);
  std::vector<Tensor> parts;
  for (const TensorPtr& tensor : sequence.tensors) {
    Dims dims = tensor->dims();
    if (stacks && dims.size() + 1 == rank) {
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
    }
    parts.push_back(tensor->Reshaped(std::move(dims)));
  }
  return {RunValueOf(Call(node, "Concat", static_cast<std::int64_t>(at), std::move(parts)))};
}

}  // namespace

void RegisterSequenceOps(OpRegistry& ops) {
  ops.Add({.name = "SequenceConstruct",
           .inputs = {1, OpDef::kVariadic},
           .infer = InferConstruct,
           .eval_values = EvalConstruct});
  ops.Add({.name = "SequenceEmpty",
           .inputs = {0, 0},
           .attrs = {{.name = "dtype", .otherwise = static_cast<std::int64_t>(DType::kF32)}},
           .infer = InferEmpty,
           .eval_values = EvalEmpty});
  ops.Add(
      {.name = "SequenceInsert", .inputs = {2, 3}, .infer = InferFirst, .eval_values = EvalInsert});
  ops.Add(
      {.name = "SequenceErase", .inputs = {1, 2}, .infer = InferFirst, .eval_values = EvalErase});
  ops.Add({.name = "SequenceAt", .inputs = {2, 2}, .infer = InferAt, .eval_values = EvalAt});
  ops.Add({.name = "SequenceLength",
           .inputs = {1, 1},
           .infer = InferLength,
           .eval_values = EvalLength});
  ops.Add({.name = "SplitToSequence",
           .inputs = {1, 2},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{0}},
                     {.name = "keepdims", .otherwise = std::int64_t{1}}},
           .infer = InferFirst,
           .eval_values = EvalSplit});
  ops.Add({.name = "ConcatFromSequence",
           .inputs = {1, 1},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{0}, .required = true},
                     {.name = "new_axis", .otherwise = std::int64_t{0}}},
           .infer = InferConcat,
           .eval_values = EvalConcat});
}

}  // namespace msc
