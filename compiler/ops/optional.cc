#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Optionals. Source: ONNX operator pages Optional-15, OptionalGetElement-18, OptionalHasElement-18.

namespace msc {
namespace {

using Values = std::vector<RunValue>;
using ValueInputs = std::span<const RunValue* const>;

bool HoldsSequence(Container container) {
  return container == Container::kSequence || container == Container::kOptionalSequence;
}

// Optional (value?) -> optional. The attributes give the type of one that holds
// nothing, which ONNX gives as one attribute, "type".

std::vector<ValueType> InferOptional(const InferInput& in) {
  const Node& node = *in.node;
  if (!in.types.empty()) {
    ValueType type = in.types[0];
    type.container =
        HoldsSequence(type.container) ? Container::kOptionalSequence : Container::kOptional;
    return {type};
  }
  const bool sequence = AttrOr(node, "sequence", std::int64_t{0}) != 0;
  // Enumerators of DType equal the numbers of TensorProto.DataType.
  const std::int64_t code = AttrOr(node, "dtype", std::int64_t{0});
  if (code < 1 || code > static_cast<std::int64_t>(DType::kBF16)) {
    RejectNode(node, "needs a value or a type");
  }
  return {{.dtype = static_cast<DType>(code),
           .container = sequence ? Container::kOptionalSequence : Container::kOptional}};
}

Values EvalOptional(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  if (!inputs.empty() && inputs[0] != nullptr) {
    RunValue made = *inputs[0];
    made.container =
        HoldsSequence(made.container) ? Container::kOptionalSequence : Container::kOptional;
    return {made};
  }
  const ValueType type = InferOptional({.node = &node}).front();
  return {{.container = type.container, .dtype = type.dtype, .present = false}};
}

// OptionalHasElement (optional?) -> bool

std::vector<ValueType> InferHas(const InferInput& /*in*/) {
  return OneOutput(DType::kBool, Shape{});
}

Values EvalHas(const Node& /*node*/, ValueInputs inputs, const CapturedValues& /*captured*/) {
  const std::uint8_t has =
      !inputs.empty() && inputs[0] != nullptr && inputs[0]->present ? std::uint8_t{1} : 0;
  return {RunValueOf(Tensor::From<std::uint8_t>(DType::kBool, {}, std::span(&has, 1)))};
}

// OptionalGetElement (optional) -> what it holds

std::vector<ValueType> InferGet(const InferInput& in) {
  ValueType type = in.types[0];
  type.container = HoldsSequence(type.container) ? Container::kSequence : Container::kTensor;
  return {type};
}

Values EvalGet(const Node& node, ValueInputs inputs, const CapturedValues& /*captured*/) {
  if (!inputs[0]->present) RejectNode(node, "reads an optional that holds nothing");
  return {Held(*inputs[0])};
}

}  // namespace

void RegisterOptionalOps(OpRegistry& ops) {
  ops.Add({.name = "Optional",
           .inputs = {0, 1},
           .attrs = {{.name = "dtype", .otherwise = std::int64_t{0}},
                     {.name = "sequence", .otherwise = std::int64_t{0}}},
           .infer = InferOptional,
           .eval_values = EvalOptional});
  ops.Add(
      {.name = "OptionalHasElement", .inputs = {0, 1}, .infer = InferHas, .eval_values = EvalHas});
  ops.Add(
      {.name = "OptionalGetElement", .inputs = {1, 1}, .infer = InferGet, .eval_values = EvalGet});
}

}  // namespace msc
