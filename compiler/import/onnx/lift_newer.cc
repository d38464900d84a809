#include <algorithm>
#include <array>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/tensor_proto.h"

// Sets 18 to 20, as far as set 17 can express them. A rule rejects other new features, or the
// operator's schema rejects the unknown attribute.

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

/// Returns the integers of a constant input; rejects an input that is not constant.
Ints ConstantList(const Lift& lift, std::size_t index, const std::string& what) {
  const TensorPtr tensor = lift.InputConstant(index);
  if (tensor == nullptr || tensor->dtype() != DType::kI64) {
    lift.Reject(what + " must be a constant list of i64");
  }
  const auto values = tensor->Values<std::int64_t>();
  return {values.begin(), values.end()};
}

/// Converts ReduceMax-18 and similar, whose axes are an input.
void LiftReduce(Lift& lift) {
  const bool keeps_all = lift.Take("noop_with_empty_axes", std::int64_t{0}) != 0;
  Ints axes;
  if (lift.HasInput(1)) axes = ConstantList(lift, 1, "axes");
  if (lift.node.inputs.size() > 1) lift.node.inputs.resize(1);
  if (!axes.empty()) {
    lift.node.attrs["axes"] = std::move(axes);
  } else if (keeps_all) {
    lift.Reject("noop_with_empty_axes without axes is not supported");
  }
}

/// Converts num_outputs of Split-18; if the parts cannot be equal, the last one is smaller.
void LiftSplit(Lift& lift) {
  const bool counted = lift.node.attrs.contains("num_outputs");
  const std::int64_t parts = lift.Take("num_outputs", std::int64_t{0});
  if (!counted || lift.HasInput(1)) return;
  if (parts != static_cast<std::int64_t>(lift.node.outputs.size()) || parts < 1) {
    lift.Reject("num_outputs is not the number of its outputs");
  }
  const auto shape = lift.InputType(0).shape;
  const auto at = lift.node.attrs.find("axis");
  std::int64_t axis = 0;
  if (at != lift.node.attrs.end() && std::holds_alternative<std::int64_t>(at->second)) {
    axis = std::get<std::int64_t>(at->second);
  }
  const auto rank = shape ? static_cast<std::int64_t>(shape->size()) : 0;
  if (axis < 0) axis += rank;
  if (!shape || axis < 0 || axis >= rank) return;
  const std::int64_t size = (*shape)[static_cast<std::size_t>(axis)].size();
  if (size < 0 || size % parts == 0) return;
  const std::int64_t each = (size + parts - 1) / parts;
  Ints sizes(static_cast<std::size_t>(parts), each);
  sizes.back() = size - each * (parts - 1);
  if (sizes.back() < 0) lift.Reject("cannot be split in so many parts");
  lift.SetConstantInput(1, "split", Tensor::From<std::int64_t>(DType::kI64, {parts}, sizes));
}

/// Converts Pad-18 with pads for some axes only.
void LiftPad(Lift& lift) {
  if (!lift.HasInput(3)) return;
  const Ints axes = ConstantList(lift, 3, "axes");
  const Ints pads = ConstantList(lift, 1, "pads with axes");
  const auto shape = lift.InputType(0).shape;
  if (!shape || pads.size() != 2 * axes.size()) lift.Reject("its axes do not fit its input");
  const std::size_t rank = shape->size();
  Ints all(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i];
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) lift.Reject("an axis does not fit");
    all[static_cast<std::size_t>(axis)] = pads[i];
    all[rank + static_cast<std::size_t>(axis)] = pads[axes.size() + i];
  }
  lift.node.inputs.resize(3);
  lift.node.inputs[1].clear();
  lift.SetConstantInput(
      1, "pads",
      Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(2 * rank)}, all));
  if (lift.node.inputs[2].empty()) lift.node.inputs.resize(2);
}

/// Rejects antialiasing, aspect ratios and a subset of axes of Resize-18.
void LiftResize18(Lift& lift) {
  if (lift.Take("antialias", std::int64_t{0}) != 0) lift.Reject("antialias is not supported");
  if (lift.Take("keep_aspect_ratio_policy", std::string("stretch")) != "stretch") {
    lift.Reject("keep_aspect_ratio_policy is not supported");
  }
  const Ints axes = lift.Take("axes", Ints{});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto shape = lift.InputType(0).shape;
    const bool all = shape && shape->size() == axes.size();
    if (!all || axes[i] != static_cast<std::int64_t>(i)) {
      lift.Reject("axes other than all, in order, are not supported");
    }
  }
}

/// Rejects a Cast to a type that Graph does not support.
void RejectNewerType(Lift& lift) {
  const auto to = lift.node.attrs.find("to");
  if (to == lift.node.attrs.end() || !std::holds_alternative<std::int64_t>(to->second)) return;
  const std::string_view name = NewerTypeName(std::get<std::int64_t>(to->second));
  if (!name.empty()) lift.Reject("element type " + std::string(name) + " is not supported");
}

/// Removes `saturate` of Cast-19 and QuantizeLinear-19, which matters only for 8-bit floats; those
/// are rejected by type.
void DropSaturate(Lift& lift) {
  (void)lift.Take("saturate", std::int64_t{1});
}

/// Rejects dilations of AveragePool-19.
void LiftAveragePool(Lift& lift) {
  const Ints dilations = lift.Take("dilations", Ints{});
  if (std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d != 1; })) {
    lift.Reject("dilations are not supported");
  }
}

/// Expands a function into one node per step.
class Steps {
 public:
  explicit Steps(Lift& lift) : lift_(lift) {}

  std::string Number(double value, const std::string& what) {
    std::string name = lift_.graph.FreeValueName(lift_.node.name + "." + what);
    const std::array<float, 1> one = {static_cast<float>(value)};
    lift_.graph.AddConstant(name, Tensor::From<float>(DType::kF32, {}, one));
    return name;
  }

  std::string Add(const std::string& op, std::vector<std::string> inputs, const std::string& what) {
    PendingNode step;
    step.position = lift_.node.position;
    step.name = lift_.node.name + "." + what;
    step.op = op;
    step.inputs = std::move(inputs);
    step.outputs = {lift_.NewValue(what)};
    lift_.before.push_back(step);
    return step.outputs[0];
  }

 private:
  Lift& lift_;
};

/// Expands Gelu-20 as exporters to older sets do.
void LiftGelu(Lift& lift) {
  if (lift.node.inputs.size() != 1 || lift.InputType(0).dtype != DType::kF32) {
    lift.Reject("is read for f32 only");
  }
  const std::string form = lift.Take("approximate", std::string("none"));
  if (form != "none" && form != "tanh") lift.Reject("approximate cannot be '" + form + "'");
  const std::string x = lift.node.inputs[0];
  Steps steps(lift);
  std::string gate;
  if (form == "none") {
    gate = steps.Add(
        "Erf", {steps.Add("Div", {x, steps.Number(std::numbers::sqrt2, "root")}, "scaled")}, "erf");
  } else {
    const std::string cube = steps.Add("Pow", {x, steps.Number(3.0, "three")}, "cube");
    const std::string part = steps.Add("Mul", {cube, steps.Number(0.044715, "cubic")}, "part");
    const std::string sum = steps.Add("Add", {x, part}, "sum");
    const double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    gate =
        steps.Add("Tanh", {steps.Add("Mul", {sum, steps.Number(root, "root")}, "scaled")}, "tanh");
  }
  const std::string above = steps.Add("Add", {gate, steps.Number(1.0, "one")}, "above");
  const std::string product = steps.Add("Mul", {x, above}, "product");
  lift.node.op = "Mul";
  lift.node.inputs = {product, steps.Number(0.5, "half")};
}

constexpr std::array<LiftRule, 18> kRules = {{
    {"AveragePool", kNoEnd, LiftAveragePool, 19},
    {"Cast", kNoEnd, DropSaturate, 19},
    {"Cast", kNoEnd, RejectNewerType},
    {"CastLike", kNoEnd, DropSaturate, 19},
    {"Gelu", kNoEnd, LiftGelu, 20},
    {"Pad", kNoEnd, LiftPad, 18},
    {"QuantizeLinear", kNoEnd, DropSaturate, 19},
    {"ReduceL1", kNoEnd, LiftReduce, 18},
    {"ReduceL2", kNoEnd, LiftReduce, 18},
    {"ReduceLogSum", kNoEnd, LiftReduce, 18},
    {"ReduceLogSumExp", kNoEnd, LiftReduce, 18},
    {"ReduceMax", kNoEnd, LiftReduce, 18},
    {"ReduceMean", kNoEnd, LiftReduce, 18},
    {"ReduceMin", kNoEnd, LiftReduce, 18},
    {"ReduceProd", kNoEnd, LiftReduce, 18},
    {"ReduceSumSquare", kNoEnd, LiftReduce, 18},
    {"Resize", kNoEnd, LiftResize18, 18},
    {"Split", kNoEnd, LiftSplit, 18},
}};

}  // namespace

std::span<const LiftRule> NewerLifts() {
  return kRules;
}

}  // namespace msc::detail
