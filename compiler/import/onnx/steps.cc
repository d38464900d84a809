#include "compiler/import/onnx/steps.h"

#include <array>
#include <span>
#include <utility>

#include "compiler/base/dtype.h"

namespace msc::detail {

PendingNode Steps::Step(std::string op, std::vector<std::string> inputs, std::string_view what,
                        AttrMap attrs) const {
  PendingNode step;
  step.position = lift_.node.position;
  step.name = lift_.node.name + "." + std::string(what);
  step.op = std::move(op);
  step.inputs = std::move(inputs);
  step.attrs = std::move(attrs);
  return step;
}

std::string Steps::Number(double value, DType dtype, std::string_view what) {
  const auto as = [&]<class T>(T number) {
    return Constant(Tensor::From<T>(dtype, {}, std::span<const T>(&number, 1)), what);
  };
  switch (dtype) {
    case DType::kF32:
      return as(static_cast<float>(value));
    case DType::kF64:
      return as(value);
    case DType::kF16:
      return as(ToF16(static_cast<float>(value)));
    case DType::kBF16:
      return as(ToBF16(static_cast<float>(value)));
    default:
      lift_.Reject("is read for floats of a known type only");
  }
}

std::string Steps::List(const std::vector<std::int64_t>& values, std::string_view what) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Constant(Tensor::From<std::int64_t>(DType::kI64, {count}, values), what);
}

std::string Steps::Constant(Tensor tensor, std::string_view what) {
  std::string name = lift_.graph.FreeValueName(lift_.node.name + "." + std::string(what));
  lift_.graph.AddConstant(name, std::move(tensor));
  return name;
}

std::string Steps::Add(std::string op, std::vector<std::string> inputs, std::string_view what,
                       AttrMap attrs) {
  return AddSeveral(std::move(op), std::move(inputs), what, 1, std::move(attrs)).front();
}

std::vector<std::string> Steps::AddSeveral(std::string op, std::vector<std::string> inputs,
                                           std::string_view what, std::size_t outputs,
                                           AttrMap attrs) {
  PendingNode step = Step(std::move(op), std::move(inputs), what, std::move(attrs));
  for (std::size_t i = 0; i < outputs; ++i) step.outputs.push_back(lift_.NewValue(what));
  lift_.before.push_back(step);
  return step.outputs;
}

void Steps::End(std::string op, std::vector<std::string> inputs, AttrMap attrs) {
  lift_.node.op = std::move(op);
  lift_.node.inputs = std::move(inputs);
  lift_.node.attrs = std::move(attrs);
  lift_.node.outputs.resize(1);
}

void Steps::EndOutput(std::string output, std::string op, std::vector<std::string> inputs,
                      std::string_view what, AttrMap attrs) {
  PendingNode step = Step(std::move(op), std::move(inputs), what, std::move(attrs));
  step.outputs = {std::move(output)};
  lift_.before.push_back(std::move(step));
}

}  // namespace msc::detail
