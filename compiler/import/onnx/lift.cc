#include "compiler/import/onnx/lift.h"

#include <utility>

#include "compiler/base/error.h"
#include "compiler/import/onnx/small_values.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {

void Lift::Reject(const std::string& why) const {
  throw UserError("node " + std::to_string(node.position) + " " + QuoteForeign(node.name) + " (" +
                  (node.domain.empty() ? node.op : node.domain + "." + node.op) +
                  ", operator set " + std::to_string(opset) + "): " + why);
}

bool Lift::HasInput(std::size_t index) const {
  return index < node.inputs.size() && !node.inputs[index].empty();
}

const std::string& Lift::Input(std::size_t index) const {
  if (!HasInput(index)) Reject("lacks input " + std::to_string(index));
  return node.inputs[index];
}

ValueType Lift::InputType(std::size_t index) const {
  if (!HasInput(index)) return {};
  return graph.type(graph.FindValue(node.inputs[index]));
}

TensorPtr Lift::InputConstant(std::size_t index) const {
  if (!HasInput(index)) return nullptr;
  const ValueId id = graph.FindValue(node.inputs[index]);
  return values == nullptr ? graph.constant(id) : values->Find(id);
}

const NarrowType* Lift::NarrowInput(std::size_t index) const {
  if (narrow == nullptr || !HasInput(index)) return nullptr;
  const auto at = narrow->find(node.inputs[index]);
  return at == narrow->end() ? nullptr : at->second;
}

void Lift::NoteNarrow(const std::vector<std::string>& names, const NarrowType& type) const {
  if (narrow == nullptr) return;
  for (const std::string& name : names) (*narrow)[name] = &type;
}

bool Lift::IsRead(std::size_t output) const {
  return output < node.outputs.size() && !node.outputs[output].empty() &&
         reads.contains(node.outputs[output]);
}

template <class T>
T Lift::Take(std::string_view attr, T otherwise) {
  const auto it = node.attrs.find(attr);
  if (it == node.attrs.end()) return otherwise;
  T* value = std::get_if<T>(&it->second);
  if (value == nullptr) Reject("attribute '" + std::string(attr) + "' has the wrong type");
  T taken = std::move(*value);
  node.attrs.erase(it);
  return taken;
}

template std::int64_t Lift::Take(std::string_view, std::int64_t);
template float Lift::Take(std::string_view, float);
template std::string Lift::Take(std::string_view, std::string);
template std::vector<std::int64_t> Lift::Take(std::string_view, std::vector<std::int64_t>);
template std::vector<float> Lift::Take(std::string_view, std::vector<float>);

Tensor Lift::FloatOfInput(float value) const {
  const DType dtype = InputType(0).dtype;
  const auto as = [&]<class T>(DType type, T number) {
    return Tensor::From<T>(type, {}, std::span<const T>(&number, 1));
  };
  switch (dtype) {
    case DType::kUndefined:
    case DType::kF32:
      return as(DType::kF32, value);
    case DType::kF64:
      return as(dtype, static_cast<double>(value));
    case DType::kF16:
      return as(dtype, ToF16(value));
    case DType::kBF16:
      return as(dtype, ToBF16(value));
    default:
      Reject("has a float attribute, which is read for floats, not for " +
             std::string(Name(dtype)));
  }
}

void Lift::SetConstantInput(std::size_t index, std::string_view what, Tensor tensor) {
  if (HasInput(index)) Reject("gives '" + std::string(what) + "' as attribute and as input");
  if (node.inputs.size() <= index) node.inputs.resize(index + 1);
  std::string name = graph.FreeValueName(node.name + "." + std::string(what));
  graph.AddConstant(name, std::move(tensor));
  node.inputs[index] = std::move(name);
}

void Lift::ListToInput(std::string_view attr, std::size_t index) {
  if (!node.attrs.contains(attr)) return;
  const auto list = Take(attr, std::vector<std::int64_t>{});
  SetConstantInput(
      index, attr,
      Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(list.size())}, list));
}

std::string Lift::NewValue(std::string_view what) {
  std::string name = graph.FreeValueName(node.name + "." + std::string(what));
  graph.AddValue(name, {});
  return name;
}

std::array<std::span<const LiftRule>, 15> AllLifts() {
  return {ElementwiseLifts(),
          NormLifts(),
          ShapeLifts(),
          NewerLifts(),
          NarrowLifts(),
          ComposedLifts(),
          AttentionLifts(),
          EinsumLifts(),
          SignalLifts(),
          MlLifts(),
          MlLinearLifts(),
          MicrosoftLifts(),
          MicrosoftAttentionLifts(),
          MicrosoftNormLifts(),
          MicrosoftQuantizedLifts()};
}

void LiftNode(Lift& lift) {
  const std::string op = lift.node.op;
  const std::string domain = lift.node.domain;
  if (domain.empty() && lift.opset < 7) LiftOldest(lift);
  for (const auto family : AllLifts()) {
    for (const LiftRule& rule : family) {
      const bool in_set = rule.since <= lift.opset && lift.opset < rule.until;
      if (rule.op == op && rule.domain == domain && in_set) rule.apply(lift);
    }
  }
  // A rule may have made it an operator of the compiler's own.
  if (lift.node.domain == domain) lift.node.domain.clear();
}

}  // namespace msc::detail
