#include "compiler/codegen/onnx/raise.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

/// Makes the axes of ReduceMax and its like an input, as set 18 does.
void RaiseReduce(OutNode& node) {
  const Ints axes = AttrOr(node.node(), "axes", Ints{});
  node.attrs.erase("axes");
  if (axes.empty()) return;  // all axes, or an input already
  const auto count = static_cast<std::int64_t>(axes.size());
  node.inputs.resize(1);
  node.inputs.push_back(
      node.AddConstant("axes", Tensor::From<std::int64_t>(DType::kI64, {count}, axes)));
}

/// Counts the axes of Resize from the front. Negative ones came with set 18, too, but ONNX Runtime
/// 1.31 does not resize at all if there is also a policy, and onnx's reference rejects them.
void RaiseResize(OutNode& node) {
  const auto& shape = node.graph.type(node.node().inputs[0]).shape;
  Ints axes = AttrOr(node.node(), "axes", Ints{});
  if (!shape || axes.empty()) return;
  for (std::int64_t& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(shape->size()) : 0;
  node.attrs["axes"] = std::move(axes);
}

/// Writes the number of equal parts, which set 18 requires if no sizes are given.
void RaiseSplit(OutNode& node) {
  if (node.node().HasInput(1)) return;
  node.attrs["num_outputs"] = static_cast<std::int64_t>(node.outputs.size());
}

/// Renames the modes of GridSample, as set 20 does.
void RaiseGridSample(OutNode& node) {
  const std::string mode = AttrOr(node.node(), "mode", std::string("bilinear"));
  node.attrs["mode"] = std::string(mode == "bilinear"  ? "linear"
                                   : mode == "bicubic" ? "cubic"
                                                       : mode);
}

/// Makes the axis of DFT an input, as set 20 does; the default of that input is another.
void RaiseDft(OutNode& node) {
  const std::int64_t axis = AttrOr(node.node(), "axis", std::int64_t{1});
  node.attrs.erase("axis");
  if (node.node().HasInput(2)) return;
  const std::array<std::int64_t, 1> value = {axis};
  node.inputs.resize(2);
  node.inputs.push_back(
      node.AddConstant("axis", Tensor::From<std::int64_t>(DType::kI64, {}, value)));
}

struct RaiseRule {
  std::string_view op;
  std::int64_t since;
  void (*apply)(OutNode&);
};

constexpr std::array<RaiseRule, 13> kRules = {{
    {"DFT", 20, RaiseDft},
    {"GridSample", 20, RaiseGridSample},
    {"ReduceL1", 18, RaiseReduce},
    {"ReduceL2", 18, RaiseReduce},
    {"ReduceLogSum", 18, RaiseReduce},
    {"ReduceLogSumExp", 18, RaiseReduce},
    {"ReduceMax", 18, RaiseReduce},
    {"ReduceMean", 18, RaiseReduce},
    {"ReduceMin", 18, RaiseReduce},
    {"ReduceProd", 18, RaiseReduce},
    {"ReduceSumSquare", 18, RaiseReduce},
    {"Resize", 18, RaiseResize},
    {"Split", 18, RaiseSplit},
}};

}  // namespace

void RaiseNode(OutNode& node) {
  for (const RaiseRule& rule : kRules) {
    if (rule.op == node.node().op && node.opset >= rule.since) rule.apply(node);
  }
}

}  // namespace msc::detail
