#include "compiler/ir/run_value.h"

#include "compiler/base/error.h"

namespace msc {

RunValue RunValueOf(TensorPtr tensor) {
  RunValue value;
  value.dtype = tensor->dtype();
  value.tensors.push_back(std::move(tensor));
  return value;
}

RunValue SequenceOf(DType dtype, std::vector<TensorPtr> tensors) {
  return {.container = Container::kSequence, .dtype = dtype, .tensors = std::move(tensors)};
}

RunValue Held(const RunValue& value) {
  if (!value.present) throw UserError("an optional value is read that holds nothing");
  RunValue held = value;
  if (value.container == Container::kOptional) held.container = Container::kTensor;
  if (value.container == Container::kOptionalSequence) held.container = Container::kSequence;
  return held;
}

const Tensor* TensorIn(const RunValue& value) {
  const bool holds_tensor =
      value.container == Container::kTensor || value.container == Container::kOptional;
  return holds_tensor && value.tensors.size() == 1 ? value.tensors.front().get() : nullptr;
}

ValueType TypeOf(const RunValue& value) {
  ValueType type{.dtype = value.dtype, .container = value.container};
  if (const Tensor* tensor = TensorIn(value)) type.shape = ToShape(tensor->dims());
  return type;
}

}  // namespace msc
