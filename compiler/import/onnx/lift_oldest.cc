#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

namespace msc::detail {
namespace {

constexpr std::array<std::string_view, 11> kBinaries = {
    "Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"};

/// Converts Add-6 and similar operators: with broadcast = 1 the axes of B match those of A from
/// `axis` on, by default the last ones. This equals numpy broadcasting after B gets trailing axes
/// of size 1.
void LiftBroadcast(Lift& lift) {
  const bool broadcasts = lift.Take("broadcast", std::int64_t{0}) != 0;
  const bool placed = lift.node.attrs.contains("axis");
  const std::int64_t axis = lift.Take("axis", std::int64_t{0});
  if (!broadcasts || !placed) return;
  const auto a = lift.InputType(0).shape;
  const auto b = lift.InputType(1).shape;
  if (!a || !b) lift.Reject("broadcasts along an axis, which needs inputs of known rank");
  const auto a_rank = static_cast<std::int64_t>(a->size());
  const auto b_rank = static_cast<std::int64_t>(b->size());
  const std::int64_t first = axis < 0 ? axis + a_rank : axis;
  if (first < 0 || first + b_rank > a_rank) lift.Reject("axis does not fit its inputs");
  if (first + b_rank == a_rank) return;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(a_rank - first - b_rank));
  std::iota(axes.begin(), axes.end(), b_rank);
  PendingNode unsqueeze;
  unsqueeze.position = lift.node.position;
  unsqueeze.name = lift.node.name + ".unsqueeze";
  unsqueeze.op = "Unsqueeze";
  std::string list = lift.graph.FreeValueName(lift.node.name + ".axes");
  lift.graph.AddConstant(list, Tensor::From<std::int64_t>(
                                   DType::kI64, {static_cast<std::int64_t>(axes.size())}, axes));
  unsqueeze.inputs = {lift.node.inputs[1], list};
  unsqueeze.outputs = {lift.NewValue("unsqueezed")};
  lift.node.inputs[1] = unsqueeze.outputs[0];
  lift.before = {std::move(unsqueeze)};
}

/// Converts PRelu-1 and -6, whose slopes are those of axis 1.
void LiftSlopes(Lift& lift) {
  const auto x = lift.InputType(0).shape;
  const auto slopes = lift.InputType(1).shape;
  if (!x || !slopes) lift.Reject("needs inputs of known rank");
  const bool by_channel =
      slopes->size() == 1 && !((*slopes)[0].known() && (*slopes)[0].size() == 1);
  if (!by_channel || x->size() <= 2) return;
  std::vector<std::int64_t> axes(x->size() - 2);
  std::iota(axes.begin(), axes.end(), 1);
  Steps steps(lift);
  lift.node.inputs[1] =
      steps.Add("Unsqueeze", {lift.node.inputs[1], steps.List(axes, "axes")}, "slopes");
}

}  // namespace

void LiftOldest(Lift& lift) {
  // A hint about inputs that may be overwritten; MSCGym does not use it.
  (void)lift.Take("consumed_inputs", std::vector<std::int64_t>{});
  const std::string_view op = lift.node.op;
  if (std::find(kBinaries.begin(), kBinaries.end(), op) != kBinaries.end()) {
    LiftBroadcast(lift);
  } else if (op == "Gemm") {
    (void)lift.Take("broadcast", std::int64_t{0});  // C broadcasts in set 17
  } else if (op == "BatchNormalization" || op == "Dropout") {
    (void)lift.Take("is_test", std::int64_t{1});  // import is for inference
  } else if (op == "LSTM") {
    (void)lift.Take("output_sequence", std::int64_t{0});  // whether Y exists; its readers show that
  } else if (op == "Reshape") {
    lift.ListToInput("shape", 1);
  } else if (op == "PRelu") {
    LiftSlopes(lift);
  } else if (op == "Concat" || op == "Cast" || op == "Tile" || op == "Upsample") {
    const bool concat = op == "Concat" && (lift.opset >= 4 || lift.node.attrs.contains("axis"));
    const bool cast = op == "Cast" && lift.opset >= 6;
    const bool tile = op == "Tile" && lift.opset >= 6;
    if (!concat && !cast && !tile) lift.Reject("its form before set 7 is not read");
  }
}

}  // namespace msc::detail
