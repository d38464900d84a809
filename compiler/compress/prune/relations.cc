
#include "compiler/compress/prune/relations.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/compress/prune/lstm.h"
#include "compiler/compress/prune/moving_rules.h"
#include "compiler/compress/prune/node_axes.h"
#include "compiler/compress/prune/static_sizes.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

using Rule = void (*)(NodeAxes&);

void Elementwise(NodeAxes& node) {
  for (std::size_t out = 0; out < node.outputs(); ++out) {
    for (std::size_t i = 0; i < node.inputs(); ++i) {
      const std::size_t shift = node.OutRank(out) - node.InRank(i);
      for (std::size_t axis = 0; axis < node.InRank(i); ++axis) {
        const Axis in = node.In(i, axis);
        // An axis of size 1 that is broadcast has no entries of its own that could be cut.
        if (in.size != 1 || node.Out(axis + shift, out).size == 1) {
          node.Unite(in, node.Out(axis + shift, out));
        }
      }
    }
  }
}

/// Output like input 0 on every axis; the other inputs are scalars.
void Unary(NodeAxes& node) {
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    for (std::size_t out = 0; out < node.outputs(); ++out) {
      node.Unite(node.In(0, axis), node.Out(axis, out));
    }
  }
}

/// Like Unary, but the node sums, sorts or normalises along one axis.
void AlongOneAxis(NodeAxes& node, std::int64_t otherwise) {
  Unary(node);
  node.Fix(node.In(0, node.AxisAttr(otherwise)), "mixes all entries of this axis");
}
void AlongLast(NodeAxes& node) {
  AlongOneAxis(node, -1);
}
void AcrossChannels(NodeAxes& node) {
  Unary(node);
  node.Fix(node.In(0, 1), "mixes neighbouring channels");
}
void RunningSum(NodeAxes& node) {
  Unary(node);
  node.FixAll("mixes all entries of an axis");
}

void LastTwo(NodeAxes& node) {
  Unary(node);
  for (std::size_t axis = node.InRank(0) - std::min<std::size_t>(2, node.InRank(0));
       axis < node.InRank(0); ++axis) {
    node.Fix(node.In(0, axis), "keeps a triangle of this axis");
  }
}

/// Reads places of an image, alike in all channels; what says where has no axis of channels.
void SampleImage(NodeAxes& node) {
  const Axis x = node.In(0, 1);
  const Axis y = node.Out(1);
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    if (axis != 1) node.Fix(node.In(0, axis), "reads places of this axis");
  }
  for (std::size_t axis = 0; axis < node.OutRank(); ++axis) {
    if (axis != 1) node.Fix(node.Out(axis), "reads places of this axis");
  }
  for (std::size_t i = 1; i < node.inputs(); ++i) node.FixIn(i, "says where to read");
  node.Unite(x, y);
}

void FixSpatial(NodeAxes& node) {
  for (std::size_t axis = 2; axis < node.InRank(0); ++axis) {
    node.Fix(node.In(0, axis), "moves a window along this axis");
    node.Fix(node.Out(axis), "moves a window along this axis");
  }
}

void Pool(NodeAxes& node) {
  for (std::size_t out = 0; out < node.outputs(); ++out) {
    node.Unite(node.In(0, 0), node.Out(0, out));
    node.Unite(node.In(0, 1), node.Out(1, out));
  }
  FixSpatial(node);
}

void Convolution(NodeAxes& node) {
  using enum AxisClasses::Prefer;
  const bool transposed = node.node().op == "ConvTranspose";
  FixSpatial(node);
  for (std::size_t axis = 2; axis < node.InRank(1); ++axis) {
    node.Fix(node.In(1, axis), "is a kernel axis");
  }
  node.Unite(node.In(0, 0), node.Out(0));
  // The weights' axis of all channels, and that of channels within a group.
  const Axis whole = node.In(1, 0);
  const Axis inner = node.In(1, 1);
  const Axis x = node.In(0, 1);
  const Axis y = node.Out(1);
  node.Unite(transposed ? x : y, whole);
  const std::int64_t group = AttrOr(node.node(), "group", std::int64_t{1});
  if (group == 1) {
    node.Unite(transposed ? y : x, inner);
  } else {
    // Either whole groups are removed, as in a depthwise convolution, or the same channels of every
    // group.
    const Axis groups = node.AddAxis(group);
    const Axis within = node.AddAxis(group > 0 ? whole.size / group : 0);
    node.AddProduct(transposed ? y : x, {groups, inner}, kLargest);
    node.AddProduct(whole, {groups, within}, kLargest);
  }
  if (node.inputs() > 2) node.Unite(node.In(2, 0), y);
}

void BatchNorm(NodeAxes& node) {
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    node.Unite(node.In(0, axis), node.Out(axis));
  }
  for (std::size_t i = 1; i < node.inputs(); ++i) node.Unite(node.In(i, 0), node.In(0, 1));
}

void InstanceNorm(NodeAxes& node) {
  BatchNorm(node);
  FixSpatial(node);
}

void LayerNorm(NodeAxes& node) {
  const std::size_t first = node.AxisAttr(-1);
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    node.Unite(node.In(0, axis), node.Out(axis));
    if (axis >= first) node.Fix(node.In(0, axis), "takes mean and variance over this axis");
  }
  for (std::size_t i = 1; i < node.inputs(); ++i) node.FixIn(i, "is scaled on a fixed axis");
  for (std::size_t out = 1; out < node.outputs(); ++out) node.FixOut(out, "is a statistic");
}

/// QuantizeLinear and DequantizeLinear: scales of channels go with the channels.
void Quantization(NodeAxes& node) {
  Unary(node);
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    if (node.InRank(i) == 1 && node.In(i, 0).size != 1) {
      node.Unite(node.In(i, 0), node.In(0, node.AxisAttr(1)));
    } else if (node.InRank(i) > 1) {
      return node.FixAll("has scales of blocks");
    }
  }
}

void Gemm(NodeAxes& node) {
  const std::size_t rows = AttrOr(node.node(), "transA", std::int64_t{0}) != 0 ? 1 : 0;
  const std::size_t columns = AttrOr(node.node(), "transB", std::int64_t{0}) != 0 ? 0 : 1;
  node.Unite(node.In(0, rows), node.Out(0));
  node.Unite(node.In(1, columns), node.Out(1));
  node.Unite(node.In(0, 1 - rows), node.In(1, 1 - columns));
  if (node.inputs() < 3) return;
  const std::size_t rank = node.InRank(2);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (node.In(2, axis).size != 1) node.Unite(node.In(2, axis), node.Out(axis + 2 - rank));
  }
}

void MatMul(NodeAxes& node) {
  const std::size_t a = node.InRank(0);
  const std::size_t b = node.InRank(1);
  const std::size_t y = node.OutRank();
  if (a < 2 || b < 2) return node.FixAll("multiplies by a list");
  node.Unite(node.In(0, a - 1), node.In(1, b - 2));
  node.Unite(node.In(0, a - 2), node.Out(y - 2));
  node.Unite(node.In(1, b - 1), node.Out(y - 1));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t rank = node.InRank(i);
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      const Axis out = node.Out(axis + y - rank);
      if (node.In(i, axis).size == out.size) node.Unite(node.In(i, axis), out);
    }
  }
}

void Reduce(NodeAxes& node) {
  const bool arg = node.node().op.starts_with("Arg");
  auto axes = AttrOr(node.node(), "axes", std::vector<std::int64_t>{});
  if (arg) axes = {AttrOr(node.node(), "axis", std::int64_t{0})};
  if (!arg && node.Has(1)) {
    if (!node.Ints(1)) return node.FixAll("reduces the axes that its data says");
    axes = *node.Ints(1);
  }
  const std::size_t rank = node.InRank(0);
  std::vector<bool> reduced(rank, axes.empty());
  for (const std::int64_t axis : axes) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  const bool keeps = AttrOr(node.node(), "keepdims", std::int64_t{1}) != 0;
  std::size_t out = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (reduced[axis]) {
      node.Fix(node.In(0, axis), "mixes all entries of this axis");
      if (keeps) ++out;
    } else {
      node.Unite(node.In(0, axis), node.Out(out++));
    }
  }
}

const std::map<std::string_view, Rule>& Rules() {
  static const std::map<std::string_view, Rule> kRules = [] {
    std::map<std::string_view, Rule> rules = {{"Conv", Convolution},
                                              {"ConvTranspose", Convolution},
                                              {"Gemm", Gemm},
                                              {"MatMul", MatMul},
                                              {"Concat", RelateConcat},
                                              {"Split", RelateSplit},
                                              {"Slice", RelateSlice},
                                              {"Gather", RelateGather},
                                              {"GatherND", RelateGatherNd},
                                              {"GatherElements", RelateGatherElements},
                                              {"DepthToSpace", RelateBlocks},
                                              {"SpaceToDepth", RelateBlocks},
                                              {"GridSample", SampleImage},
                                              {"RoiAlign", SampleImage},
                                              {"MaxRoiPool", SampleImage},
                                              {"TopK", AlongLast},
                                              {"Trilu", LastTwo},
                                              {"CastLike", Unary},
                                              {"DequantizeLinear", Quantization},
                                              {"QuantizeLinear", Quantization},
                                              {"Pad", RelatePad},
                                              {"Transpose", RelateTranspose},
                                              {"Squeeze", RelateSqueeze},
                                              {"Unsqueeze", RelateSqueeze},
                                              {"Flatten", RelateFlatten},
                                              {"Reshape", RelateReshape},
                                              {"BatchNormalization", BatchNorm},
                                              {"LRN", AcrossChannels},
                                              {"LSTM", RelateLstm},
                                              {"InstanceNormalization", InstanceNorm},
                                              {"CumSum", RunningSum},
                                              {"LayerNormalization", LayerNorm},
                                              {"Shape", RelateShape},
                                              {"Softmax", AlongLast},
                                              {"LogSoftmax", AlongLast},
                                              {"Hardmax", AlongLast},
                                              {"LpNormalization", AlongLast}};
    for (const char* op : {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}) {
      rules.emplace(op, Pool);
    }
    for (const char* op : {"Expand", "Tile", "Resize"}) rules.emplace(op, RelateSameSizes);
    for (const char* op :
         {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSum",
          "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ArgMax", "ArgMin"}) {
      rules.emplace(op, Reduce);
    }
    for (const char* op : {"Add",
                           "Sub",
                           "Mul",
                           "Div",
                           "Pow",
                           "Max",
                           "Min",
                           "Sum",
                           "Mean",
                           "Where",
                           "PRelu",
                           "Mod",
                           "Equal",
                           "Less",
                           "LessOrEqual",
                           "Greater",
                           "GreaterOrEqual",
                           "And",
                           "Or",
                           "Xor"}) {
      rules.emplace(op, Elementwise);
    }
    for (const char* op : {"Relu",
                           "LeakyRelu",
                           "Sigmoid",
                           "HardSigmoid",
                           "HardSwish",
                           "Elu",
                           "Softplus",
                           "Softsign",
                           "Tanh",
                           "Exp",
                           "Log",
                           "Sqrt",
                           "Erf",
                           "Reciprocal",
                           "Floor",
                           "Ceil",
                           "Celu",
                           "Selu",
                           "Acos",
                           "Acosh",
                           "Asin",
                           "Asinh",
                           "Atan",
                           "Atanh",
                           "Cos",
                           "Cosh",
                           "Sin",
                           "Sinh",
                           "Tan",
                           "Round",
                           "Abs",
                           "Neg",
                           "Sign",
                           "Not",
                           "IsNaN",
                           "IsInf",
                           "Clip",
                           "Cast",
                           "Identity",
                           "Dropout",
                           "ThresholdedRelu"}) {
      rules.emplace(op, Unary);
    }
    return rules;
  }();
  return kRules;
}

}  // namespace

GraphAxes RelateAxes(const Graph& graph) {
  GraphAxes axes;
  StaticSizes sizes = ReadStaticSizes(graph);
  axes.dims = std::move(sizes.dims);
  for (const auto& [id, dims] : axes.dims) {
    std::vector<Axis>& list = axes.axes[id];
    for (std::size_t i = 0; i < dims.size(); ++i) {
      list.push_back(axes.classes.Add(dims[i]));
      // The axis has an element now, but may have others when the model runs.
      if (sizes.open.at(id)[i]) {
        axes.classes.Fix(list.back(), "its size is known only when the model runs");
      }
    }
  }
  const auto fix = [&](const std::vector<ValueId>& values, const std::string& why) {
    for (const ValueId id : values) {
      for (const Axis axis : axes.axes[id]) {
        axes.classes.Fix(axis, "'" + graph.value(id).name + "' is " + why);
      }
    }
  };
  fix(graph.inputs(), "an input of the model");
  fix(graph.outputs(), "an output of the model");
  for (const NodeId id : graph.order()) {
    NodeAxes node(graph, id, axes);
    const auto rule = Rules().find(graph.node(id).op);
    if (!graph.node(id).domain.empty() || rule == Rules().end()) {
      node.FixAll("is not known to keep channels apart");
    } else if (node.Known()) {
      rule->second(node);
    } else {
      node.FixAll("has values whose shape is not known before running");
    }
  }
  axes.classes.ResolveProducts();
  return axes;
}

}  // namespace msc
