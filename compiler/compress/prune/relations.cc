#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/compress/prune/axes.h"
#include "compiler/compress/prune/lstm.h"
#include "compiler/compress/prune/node_axes.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

using Rule = void (*)(NodeAxes&);

void Elementwise(NodeAxes& node) {
  for (std::size_t out = 0; out < node.outputs(); ++out) {
    for (std::size_t i = 0; i < node.inputs(); ++i) {
      const std::size_t shift = node.OutRank(out) - node.InRank(i);
      for (std::size_t axis = 0; axis < node.InRank(i); ++axis) {
        const Axis in = node.In(i, axis);
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

/// Like Unary, but one axis is summed, sorted or normalised over.
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
  // The weights' axis of whole channels, and the one of channels within a group.
  const Axis whole = node.In(1, 0);
  const Axis inner = node.In(1, 1);
  const Axis x = node.In(0, 1);
  const Axis y = node.Out(1);
  node.Unite(transposed ? x : y, whole);
  const std::int64_t group = AttrOr(node.node(), "group", std::int64_t{1});
  if (group == 1) {
    node.Unite(transposed ? y : x, inner);
  } else {
    // Either whole groups go, as in a depthwise convolution, or the same channels of every group.
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

void Concat(NodeAxes& node) {
  const std::size_t joined = node.AxisAttr(0);
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    for (std::size_t axis = 0; axis < node.OutRank(); ++axis) {
      if (axis != joined) node.Unite(node.In(i, axis), node.Out(axis));
    }
    const Axis part = node.In(i, joined);
    node.UnitePart(part, node.Out(joined), offset);
    offset += part.size;
  }
}

void Split(NodeAxes& node) {
  const std::size_t parted = node.AxisAttr(0);
  if (node.Has(1) && !node.Ints(1)) return node.FixAll("splits where its data says");
  for (const ValueId out : node.node().outputs) {
    if (out == kNoValue) return node.FixAll("leaves a part unused");
  }
  std::uint32_t offset = 0;
  for (std::size_t out = 0; out < node.outputs(); ++out) {
    for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
      if (axis != parted) node.Unite(node.In(0, axis), node.Out(axis, out));
    }
    const Axis part = node.Out(parted, out);
    node.UnitePart(part, node.In(0, parted), offset);
    offset += part.size;
  }
}

void Slice(NodeAxes& node) {
  const auto cuts = node.ReadSlice();
  if (!cuts) return node.FixAll("takes a slice where its data says");
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    const auto cut = cuts->find(axis);
    if (cut == cuts->end()) {
      node.Unite(node.In(0, axis), node.Out(axis));
    } else if (cut->second.step == 1) {
      node.UnitePart(node.Out(axis), node.In(0, axis),
                     static_cast<std::uint32_t>(cut->second.first));
    } else {
      node.Fix(node.In(0, axis), "takes every n-th entry of this axis");
      node.Fix(node.Out(axis), "takes every n-th entry of this axis");
    }
  }
}

void Gather(NodeAxes& node) {
  const std::size_t gathered = node.AxisAttr(0);
  const std::size_t index_rank = node.InRank(1);
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    if (axis == gathered) continue;
    const std::size_t out = axis < gathered ? axis : axis + index_rank - 1;
    node.Unite(node.In(0, axis), node.Out(out));
  }
  for (std::size_t axis = 0; axis < index_rank; ++axis) {
    node.Unite(node.In(1, axis), node.Out(gathered + axis));
  }
  const auto picks = node.Ints(1);
  if (!picks || index_rank != 1) {
    return node.Fix(node.In(0, gathered), "picks entries of this axis by number");
  }
  node.UnitePicks(node.Out(gathered), node.In(0, gathered), *picks);
}

void Transpose(NodeAxes& node) {
  const std::size_t rank = node.InRank(0);
  const auto perm = AttrOr(node.node(), "perm", std::vector<std::int64_t>{});
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from = perm.empty() ? rank - 1 - axis : static_cast<std::size_t>(perm[axis]);
    node.Unite(node.In(0, from), node.Out(axis));
  }
}

/// Axes of one entry come or go; the others keep their order.
void Squeeze(NodeAxes& node) {
  // Without a list, an axis cut down to one entry would go as well.
  if (node.node().op == "Squeeze" && !node.Has(1))
    return node.FixAll("drops all axes of one entry");
  const auto axes = node.Ints(1);
  if (!axes) return node.FixAll("changes axes as its data says");
  const std::size_t rank = std::max(node.InRank(0), node.OutRank());
  std::vector<bool> listed(rank, false);
  for (const std::int64_t axis : *axes) {
    listed[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  const bool drops = node.node().op == "Squeeze";
  std::size_t other = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (listed[axis]) {
      node.Fix(drops ? node.In(0, axis) : node.Out(axis), "must have one entry");
    } else if (drops) {
      node.Unite(node.In(0, axis), node.Out(other++));
    } else {
      node.Unite(node.In(0, other++), node.Out(axis));
    }
  }
}

void Flatten(NodeAxes& node) {
  std::vector<Axis> left;
  std::vector<Axis> right;
  const std::int64_t rank = static_cast<std::int64_t>(node.InRank(0));
  std::int64_t split = AttrOr(node.node(), "axis", std::int64_t{1});
  if (split < 0) split += rank;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    (axis < split ? left : right).push_back(node.In(0, static_cast<std::size_t>(axis)));
  }
  node.AddProduct(node.Out(0), left, AxisClasses::Prefer::kLargest);
  node.AddProduct(node.Out(1), right, AxisClasses::Prefer::kLargest);
}

/// Walks the sizes of both sides in step: where a run of axes on one side has the product of one
/// axis on the other, the one is made of the others.
void Reshape(NodeAxes& node) {
  using enum AxisClasses::Prefer;
  if (!node.Ints(1)) {
    return node.FixAll("has a target shape that is not constant (give the model its --shape)");
  }
  std::size_t i = 0;
  std::size_t j = 0;
  const std::size_t in_rank = node.InRank(0);
  const std::size_t out_rank = node.OutRank();
  while (i < in_rank || j < out_rank) {
    std::vector<Axis> in;
    std::vector<Axis> out;
    std::uint64_t in_size = 1;
    std::uint64_t out_size = 1;
    const auto take = [](std::vector<Axis>& list, std::uint64_t& size, Axis axis) {
      list.push_back(axis);
      size *= axis.size;
    };
    if (i < in_rank) take(in, in_size, node.In(0, i++));
    if (j < out_rank) take(out, out_size, node.Out(j++));
    while (in_size != out_size && in_size != 0 && out_size != 0) {
      if (in_size < out_size && i < in_rank) {
        take(in, in_size, node.In(0, i++));
      } else if (out_size < in_size && j < out_rank) {
        take(out, out_size, node.Out(j++));
      } else {
        return node.FixAll("regroups axes of unknown size");
      }
    }
    if (in_size == 0 || out_size == 0) return node.FixAll("regroups axes of unknown size");
    const auto real = [](const std::vector<Axis>& list) {
      return std::count_if(list.begin(), list.end(), [](Axis axis) { return axis.size != 1; });
    };
    const auto only = [](const std::vector<Axis>& list) {
      return *std::find_if(list.begin(), list.end(), [](Axis axis) { return axis.size != 1; });
    };
    if (real(in) == 1) {
      node.AddProduct(only(in), out, i == in_rank ? kOutermost : kLargest);
    } else if (real(out) == 1) {
      node.AddProduct(only(out), in, j == out_rank ? kOutermost : kLargest);
    } else if (real(in) > 1) {
      for (const std::vector<Axis>* list : {&in, &out}) {
        for (const Axis axis : *list) node.Fix(axis, "regroups several axes at once");
      }
    }
    for (const std::vector<Axis>* list : {&in, &out}) {
      for (const Axis axis : *list) {
        if (axis.size == 1) node.Fix(axis, "must have one entry");
      }
    }
  }
}

/// Axes of equal size go through; what is repeated, padded or resized stays.
void SameSizeOnly(NodeAxes& node) {
  if (node.node().op == "Resize" && AttrOr(node.node(), "coordinate_transformation_mode",
                                           std::string()) == "tf_crop_and_resize") {
    return node.FixAll("crops by shares of the axes");
  }
  const std::size_t in_rank = node.InRank(0);
  const std::size_t shift = node.OutRank() - in_rank;
  for (std::size_t axis = 0; axis < in_rank; ++axis) {
    const Axis in = node.In(0, axis);
    const Axis out = node.Out(axis + shift);
    if (in.size == out.size && !(node.node().op == "Pad" && node.MovesByPadding(axis))) {
      node.Unite(in, out);
    } else {
      node.Fix(in, "changes the size of this axis");
      node.Fix(out, "changes the size of this axis");
    }
  }
  for (std::size_t axis = 0; axis < shift; ++axis) {
    node.Fix(node.Out(axis), "changes the size of this axis");
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

void ShapeOf(NodeAxes& node) {
  node.FixAll("reads the size of this axis");
}

const std::map<std::string_view, Rule>& Rules() {
  static const std::map<std::string_view, Rule> kRules = [] {
    std::map<std::string_view, Rule> rules = {{"Conv", Convolution},
                                              {"ConvTranspose", Convolution},
                                              {"Gemm", Gemm},
                                              {"MatMul", MatMul},
                                              {"Concat", Concat},
                                              {"Split", Split},
                                              {"Slice", Slice},
                                              {"Gather", Gather},
                                              {"Transpose", Transpose},
                                              {"Squeeze", Squeeze},
                                              {"Unsqueeze", Squeeze},
                                              {"Flatten", Flatten},
                                              {"Reshape", Reshape},
                                              {"BatchNormalization", BatchNorm},
                                              {"LRN", AcrossChannels},
                                              {"LSTM", RelateLstm},
                                              {"InstanceNormalization", InstanceNorm},
                                              {"CumSum", RunningSum},
                                              {"LayerNormalization", LayerNorm},
                                              {"Shape", ShapeOf},
                                              {"Softmax", AlongLast},
                                              {"LogSoftmax", AlongLast},
                                              {"Hardmax", AlongLast},
                                              {"LpNormalization", AlongLast}};
    for (const char* op : {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}) {
      rules.emplace(op, Pool);
    }
    for (const char* op : {"Expand", "Tile", "Pad", "Resize"}) rules.emplace(op, SameSizeOnly);
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

/// Sizes of all values with symbols counted as 1 and shape arithmetic evaluated.
std::map<ValueId, Dims> StaticSizes(const Graph& graph) {
  Graph bound = graph;
  ShapeBindings ones;
  for (const ValueId id : graph.values()) {
    for (const Dim& dim : graph.type(id).shape.value_or(Shape{})) {
      if (!dim.symbol().empty()) ones[dim.symbol()] = 1;
    }
  }
  InferTypes(bound, ones);
  FoldConstants(bound);
  InferTypes(bound);
  std::map<ValueId, Dims> sizes;
  for (const ValueId id : graph.values()) {
    const ValueId same = bound.FindValue(graph.value(id).name);
    const ValueType& type = same == kNoValue ? graph.type(id) : bound.type(same);
    if (type.container != Container::kTensor || type.dtype == DType::kString) continue;
    if (!type.shape) continue;
    if (auto dims = StaticDims(*type.shape)) sizes.emplace(id, std::move(*dims));
  }
  return sizes;
}

}  // namespace

GraphAxes RelateAxes(const Graph& graph) {
  GraphAxes axes;
  axes.dims = StaticSizes(graph);
  for (const auto& [id, dims] : axes.dims) {
    const auto& shape = graph.type(id).shape;
    std::vector<Axis>& list = axes.axes[id];
    for (std::size_t i = 0; i < dims.size(); ++i) {
      list.push_back(axes.classes.Add(dims[i]));
      const bool open = !shape || i >= shape->size() || !(*shape)[i].known();
      if (open) axes.classes.Fix(list.back(), "its size is known only when the model runs");
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
