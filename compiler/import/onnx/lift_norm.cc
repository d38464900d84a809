#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

namespace msc::detail {
namespace {

/// Expands BatchNormalization-14 in training mode: by the mean and the variance of the batch, which
/// the running ones come closer to.
void LiftTrainingBatchNormalization(Lift& lift) {
  const float momentum = lift.Take("momentum", 0.9F);
  const float epsilon = lift.Take("epsilon", 1e-5F);
  const ValueType type = lift.InputType(0);
  if (!type.shape || type.shape->size() < 2 || lift.node.inputs.size() != 5) {
    lift.Reject("in training mode needs five inputs, the first [N, C, ...]");
  }
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 0; axis < std::ssize(*type.shape); ++axis) {
    if (axis != 1) axes.push_back(axis);
  }
  const std::vector<std::string> inputs = lift.node.inputs;
  const std::vector<std::string> outputs = lift.node.outputs;
  Steps steps(lift);
  const auto mean_of = [&](const std::string& of, std::int64_t keep, const char* what) {
    return steps.Add("ReduceMean", {of}, what, {{"axes", axes}, {"keepdims", keep}});
  };
  const std::string centred =
      steps.Add("Sub", {inputs[0], mean_of(inputs[0], 1, "centre")}, "centred");
  const std::string mean = mean_of(inputs[0], 0, "mean");
  const std::string variance =
      mean_of(steps.Add("Mul", {centred, centred}, "square"), 0, "variance");
  const auto running = [&](std::size_t output, const std::string& before, const std::string& now) {
    if (!lift.IsRead(output)) return;
    const DType dtype = type.dtype;
    const std::string kept =
        steps.Add("Mul", {before, steps.Number(momentum, dtype, "momentum")}, "kept");
    const std::string added =
        steps.Add("Mul", {now, steps.Number(1 - momentum, dtype, "rest")}, "added");
    steps.EndOutput(outputs[output], "Add", {kept, added}, "running");
  };
  running(1, inputs[3], mean);
  running(2, inputs[4], variance);
  steps.End("BatchNormalization", {inputs[0], inputs[1], inputs[2], mean, variance},
            {{"epsilon", epsilon}});
}

/// Converts BatchNormalization: -7 has `spatial`, -14 and later `training_mode`; only training
/// produces the outputs after the first.
void LiftBatchNormalization(Lift& lift) {
  if (lift.opset < 9 && lift.Take("spatial", std::int64_t{1}) != 1) {
    lift.Reject("spatial = 0 is not supported");
  }
  if (lift.Take("training_mode", std::int64_t{0}) != 0) {
    LiftTrainingBatchNormalization(lift);
    return;
  }
  for (std::size_t i = 1; i < lift.node.outputs.size(); ++i) {
    if (lift.IsRead(i)) lift.Reject("more than one output is used, which only training does");
  }
  if (lift.node.outputs.size() > 1) lift.node.outputs.resize(1);
}

PendingNode Step(const Lift& lift, std::string op, std::string_view what) {
  PendingNode step;
  step.position = lift.node.position;
  step.name = lift.node.name + "." + std::string(what);
  step.op = std::move(op);
  return step;
}

/// Converts Softmax and similar operators. Before set 13 they normalize over all axes from `axis`
/// (default 1) on, as if X were flattened to two dimensions; since then over one axis (default -1).
/// Both agree if `axis` is the last.
void LiftSoftmax(Lift& lift) {
  const std::int64_t axis = lift.Take("axis", std::int64_t{1});
  const ValueType type = lift.InputType(0);
  lift.node.attrs["axis"] = std::int64_t{-1};
  if (axis == -1) return;
  if (type.shape && (axis + 1 == static_cast<std::int64_t>(type.shape->size()))) return;
  if (lift.node.inputs.size() != 1 || lift.node.outputs.size() != 1) {
    lift.Reject("needs one input and one output");
  }
  PendingNode shape = Step(lift, "Shape", "shape");
  shape.inputs = {lift.node.inputs[0]};
  shape.outputs = {lift.NewValue("shape")};
  PendingNode flatten = Step(lift, "Flatten", "flatten");
  flatten.inputs = {lift.node.inputs[0]};
  flatten.outputs = {lift.NewValue("flat")};
  flatten.attrs["axis"] = axis;
  PendingNode reshape = Step(lift, "Reshape", "reshape");
  reshape.inputs = {lift.NewValue("normalized"), shape.outputs[0]};
  reshape.outputs = {lift.node.outputs[0]};
  lift.node.inputs[0] = flatten.outputs[0];
  lift.node.outputs[0] = reshape.inputs[0];
  lift.before = {std::move(shape), std::move(flatten)};
  lift.after = {std::move(reshape)};
}

constexpr std::array<LiftRule, 4> kRules = {{
    {"BatchNormalization", kNoEnd, LiftBatchNormalization},
    {"Hardmax", 13, LiftSoftmax},
    {"LogSoftmax", 13, LiftSoftmax},
    {"Softmax", 13, LiftSoftmax},
}};

}  // namespace

std::span<const LiftRule> NormLifts() {
  return kRules;
}

}  // namespace msc::detail
