#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/prune/node_axes.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/lstm.h"
#include "compiler/ops/op.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

[[noreturn]] void Reject(const std::string& what) {
  throw UserError("prune plan: " + what);
}

/// Returns the indices along an axis that stay.
std::vector<std::int64_t> KeptIndices(const std::vector<std::int32_t>& units,
                                      const std::vector<bool>& kept) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i] < 0 || kept[static_cast<std::size_t>(units[i])]) {
      indices.push_back(static_cast<std::int64_t>(i));
    }
  }
  return indices;
}

/// The sizes of a tensor viewed as [outer, size, inner bytes] around one axis.
struct AxisView {
  std::size_t outer = 1;
  std::size_t size = 1;
  std::size_t inner_bytes = 1;
};
AxisView ViewAlong(const Tensor& tensor, std::size_t axis) {
  AxisView view;
  const Dims& dims = tensor.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto size = static_cast<std::size_t>(dims[i]);
    (i < axis ? view.outer : i == axis ? view.size : view.inner_bytes) *= size;
  }
  view.inner_bytes *= ByteSize(tensor.dtype());
  return view;
}

Tensor Take(const Tensor& tensor, std::size_t axis, const std::vector<std::int64_t>& indices) {
  Dims dims = tensor.dims();
  dims[axis] = std::ssize(indices);
  Tensor taken(tensor.dtype(), dims);
  const AxisView view = ViewAlong(tensor, axis);
  const std::byte* from = tensor.Raw().data();
  std::byte* to = taken.MutableRaw().data();
  for (std::size_t outer = 0; outer < view.outer; ++outer) {
    for (const std::int64_t index : indices) {
      const std::size_t at = outer * view.size + static_cast<std::size_t>(index);
      std::memcpy(to, from + at * view.inner_bytes, view.inner_bytes);
      to += view.inner_bytes;
    }
  }
  return taken;
}

Tensor IntList(const std::vector<std::int64_t>& values) {
  return Tensor::From<std::int64_t>(DType::kI64, {std::ssize(values)}, values);
}

/// Makes a graph smaller. Its rules for nodes read sizes and constants of the graph before the
/// change.
class Shrinker {
 public:
  Shrinker(const PruneSpace& space, const std::vector<bool>& kept, Graph& graph)
      : space_(space), kept_(kept), before_(graph), graph_(graph) {}

  void Run() {
    for (const auto& [place, units] : space_.axes()) {
      const auto& [value, axis] = place;
      const std::vector<std::int64_t> indices = KeptIndices(units, kept_);
      if (indices.size() == units.size()) continue;
      if (const TensorPtr tensor = graph_.constant(value)) {
        graph_.SetConstant(value, std::make_shared<const Tensor>(Take(*tensor, axis, indices)));
      }
      ValueType type = graph_.type(value);
      if (type.shape) (*type.shape)[axis] = Dim(std::ssize(indices));
      graph_.SetType(value, std::move(type));
    }
    // Constants and types have their new sizes; attributes and lists of sizes follow.
    for (const NodeId id : before_.order()) AdaptNode(id);
    InferTypes(graph_);
    Verify(graph_);
  }

 private:
  [[nodiscard]] std::int64_t Size(ValueId value, std::size_t axis) const {
    const auto& units = space_.Units(value, axis);
    if (!units.empty()) return std::ssize(KeptIndices(units, kept_));
    const Dims* sizes = space_.Sizes(value);
    return sizes == nullptr ? -1 : sizes->at(axis);
  }

  /// Returns how many of the indices [first, end) of an axis stay.
  [[nodiscard]] std::int64_t Kept(ValueId value, std::size_t axis, std::int64_t first,
                                  std::int64_t end) const {
    const auto& units = space_.Units(value, axis);
    if (units.empty()) return end - first;
    std::int64_t count = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const std::int32_t unit = units[static_cast<std::size_t>(i)];
      count += unit < 0 || kept_[static_cast<std::size_t>(unit)] ? 1 : 0;
    }
    return count;
  }

  [[nodiscard]] bool IsCut(ValueId value) const {
    const Dims* sizes = space_.Sizes(value);
    if (value == kNoValue || sizes == nullptr) return false;
    for (std::size_t axis = 0; axis < sizes->size(); ++axis) {
      if (Size(value, axis) != (*sizes)[axis]) return true;
    }
    return false;
  }

  void AdaptNode(NodeId id) {
    const Node& node = before_.node(id);
    const auto cut = [&](ValueId value) { return IsCut(value); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), cut) &&
        std::none_of(node.outputs.begin(), node.outputs.end(), cut)) {
      return;
    }
    if (node.op == "Conv" || node.op == "ConvTranspose") AdaptGroups(id);
    if (node.op == "LSTM") AdaptHiddenSize(id);
    if (node.op == "Reshape" || node.op == "Expand") AdaptTargetShape(id, 1);
    if (node.op == "Resize" && node.HasInput(3)) {
      AdaptTargetShape(id, 3);
    }
    if (node.op == "Split") AdaptSplit(id);
    if (node.op == "Slice") AdaptSlice(id);
    if (node.op == "Gather") AdaptPicks(id);
  }

  void AdaptGroups(NodeId id) {
    const Node& node = before_.node(id);
    if (AttrOr(node, "group", std::int64_t{1}) == 1) return;
    // The weights have the channels of one group, so the quotient is the number of groups that
    // stay.
    const ValueId whole = node.op == "Conv" ? node.inputs[0] : node.outputs[0];
    graph_.SetAttr(id, "group", Size(whole, 1) / Size(node.inputs[1], 1));
  }

  void AdaptHiddenSize(NodeId id) {
    const Node& node = before_.node(id);
    if (!node.attrs.contains("hidden_size")) return;
    graph_.SetAttr(id, "hidden_size", Size(node.inputs[kLstmR], 2));
  }

  /// Updates sizes that a constant lists; 0 and -1 in it stand for sizes that are inferred.
  void AdaptTargetShape(NodeId id, std::size_t input) {
    const Node& node = before_.node(id);
    auto target = ConstantList(before_, node.inputs[input]);
    if (!target) return;
    const Dims& sizes = *space_.Sizes(node.outputs[0]);
    const std::size_t shift = sizes.size() - target->size();
    for (std::size_t i = 0; i < target->size(); ++i) {
      // A 1 in Expand takes the size of the other operand.
      if ((*target)[i] == sizes[shift + i] && (*target)[i] > 1) {
        (*target)[i] = Size(node.outputs[0], shift + i);
      }
    }
    ReplaceConstant(graph_, id, input, IntList(*target));
  }

  void AdaptSplit(NodeId id) {
    const Node& node = before_.node(id);
    const Dims& sizes = *space_.Sizes(node.inputs[0]);
    std::int64_t axis = AttrOr(node, "axis", std::int64_t{0});
    if (axis < 0) axis += std::ssize(sizes);
    std::vector<std::int64_t> parts;
    if (node.HasInput(1)) {
      parts = ConstantList(before_, node.inputs[1]).value();
    } else {
      for (const ValueId out : node.outputs) {
        Check(out != kNoValue, "an equal Split has all its outputs");
        parts.push_back(space_.Sizes(out)->at(static_cast<std::size_t>(axis)));
      }
    }
    std::int64_t first = 0;
    for (std::int64_t& part : parts) {
      const std::int64_t end = first + part;
      part = Kept(node.inputs[0], static_cast<std::size_t>(axis), first, end);
      first = end;
    }
    if (node.HasInput(1)) {
      return ReplaceConstant(graph_, id, 1, IntList(parts));
    }
    // A node cannot get a further input, so replace it by a new one.
    Node wider = graph_.node(id);
    wider.inputs.resize(1);
    wider.inputs.push_back(
        graph_.AddConstant(graph_.FreeValueName(node.name + "_sizes"), IntList(parts)));
    std::vector<ValueId> made;
    for (ValueId& out : wider.outputs) {
      made.push_back(out);
      out = graph_.AddValue(graph_.FreeValueName(graph_.value(out).name), graph_.type(out));
    }
    wider.name = graph_.FreeNodeName(node.name);
    const std::vector<ValueId> fresh = wider.outputs;
    const NodeId made_anew = graph_.AddNode(std::move(wider), id);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < made.size(); ++i) {
      names.push_back(graph_.value(made[i]).name);
      graph_.ReplaceUses(made[i], fresh[i]);
    }
    graph_.RemoveNode(id);
    for (std::size_t i = 0; i < made.size(); ++i) graph_.RenameValue(fresh[i], names[i]);
    graph_.RenameNode(made_anew, node.name);
  }

  void AdaptSlice(NodeId id) {
    const Node& node = before_.node(id);
    const ValueId data = node.inputs[0];
    const Dims& sizes = *space_.Sizes(data);
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> axes;
    std::vector<std::int64_t> steps;
    bool changes = false;
    const std::map<std::size_t, SliceCut> cuts = ReadSlice(before_, node, sizes).value();
    for (const auto& [axis, cut] : cuts) {
      changes = changes || Size(data, axis) != sizes[axis];
      axes.push_back(static_cast<std::int64_t>(axis));
      steps.push_back(cut.step);
      starts.push_back(Kept(data, axis, 0, cut.first));
      ends.push_back(Kept(data, axis, 0, cut.end));
    }
    // If only other axes were cut, keep the bounds as they are written; they may run backwards.
    if (!changes) return;
    Check(std::all_of(steps.begin(), steps.end(), [](std::int64_t step) { return step == 1; }),
          "axes of a Slice with steps stay whole");
    ReplaceConstant(graph_, id, 1, IntList(starts));
    ReplaceConstant(graph_, id, 2, IntList(ends));
    if (node.HasInput(3)) ReplaceConstant(graph_, id, 3, IntList(axes));
    if (node.HasInput(4)) ReplaceConstant(graph_, id, 4, IntList(steps));
  }

  void AdaptPicks(NodeId id) {
    const Node& node = before_.node(id);
    const Dims& sizes = *space_.Sizes(node.inputs[0]);
    std::int64_t axis = AttrOr(node, "axis", std::int64_t{0});
    if (axis < 0) axis += std::ssize(sizes);
    const auto along = static_cast<std::size_t>(axis);
    const auto picks = ConstantList(before_, node.inputs[1]);
    if (!picks || Size(node.inputs[0], along) == sizes[along]) return;
    const std::vector<std::int32_t>& units = space_.Units(node.inputs[0], along);
    std::vector<std::int64_t> renumbered;
    for (std::int64_t pick : *picks) {
      if (pick < 0) pick += sizes[along];
      const std::int32_t unit = units[static_cast<std::size_t>(pick)];
      if (unit >= 0 && !kept_[static_cast<std::size_t>(unit)]) continue;
      renumbered.push_back(Kept(node.inputs[0], along, 0, pick));
    }
    ReplaceConstant(graph_, id, 1, IntList(renumbered));
  }

  const PruneSpace& space_;
  const std::vector<bool>& kept_;
  const Graph before_;
  Graph& graph_;
};

/// Operand `input` of a node that sums products, and the axis of that operand that is summed over.
struct Contraction {
  std::size_t input = 0;
  std::size_t axis = 0;
};
/// The operands of one sum, weights first.
using Contractions = std::vector<Contraction>;

/// Returns the sums of a node; empty for other nodes.
std::vector<Contractions> ContractionsOf(const Node& node, const PruneSpace& space) {
  if (!node.domain.empty()) return {};
  if (node.op == "Conv") return {{{1, 1}, {0, 1}}};
  if (node.op == "ConvTranspose") return {{{1, 0}, {0, 1}}};
  // The other operand of R is the previous state, inside the node.
  if (node.op == "LSTM") return {{{kLstmW, 2}, {kLstmX, 2}}, {{kLstmR, 2}}};
  if (node.op == "Gemm") {
    const std::size_t a = AttrOr(node, "transA", std::int64_t{0}) != 0 ? 0 : 1;
    const std::size_t b = AttrOr(node, "transB", std::int64_t{0}) != 0 ? 1 : 0;
    return {{{1, b}, {0, a}}};
  }
  if (node.op == "MatMul") {
    const Dims* a = space.Sizes(node.inputs[0]);
    const Dims* b = space.Sizes(node.inputs[1]);
    if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) return {};
    return {{{1, b->size() - 2}, {0, a->size() - 1}}};
  }
  return {};
}

void ZeroRemoved(Tensor& tensor, std::size_t axis, const std::vector<std::int32_t>& units,
                 const std::vector<bool>& kept) {
  const AxisView view = ViewAlong(tensor, axis);
  for (std::size_t outer = 0; outer < view.outer; ++outer) {
    for (std::size_t i = 0; i < view.size; ++i) {
      if (units[i] < 0 || kept[static_cast<std::size_t>(units[i])]) continue;
      std::memset(tensor.MutableRaw().data() + (outer * view.size + i) * view.inner_bytes, 0,
                  view.inner_bytes);
    }
  }
}

/// Inserts a Mul by zeros and ones in front of an operand.
void MultiplyByMask(Graph& graph, NodeId id, const Contraction& side,
                    const std::vector<std::int32_t>& units, const std::vector<bool>& kept) {
  const ValueId value = graph.node(id).inputs[side.input];
  const ValueType type = graph.type(value);
  Dims dims(type.shape.value().size(), 1);
  dims[side.axis] = std::ssize(units);
  const bool wide = type.dtype == DType::kF64;
  Tensor ones(wide ? DType::kF64 : DType::kF32, dims);
  if (wide) {
    std::ranges::fill(ones.MutableValues<double>(), 1.0);
  } else {
    std::ranges::fill(ones.MutableValues<float>(), 1.0F);
    ones = FromF32(ones, type.dtype);
  }
  ZeroRemoved(ones, side.axis, units, kept);
  const std::string stem = graph.value(value).name;
  const ValueId mask = graph.AddConstant(graph.FreeValueName(stem + "_mask"), std::move(ones));
  const ValueId masked = graph.AddValue(graph.FreeValueName(stem + "_masked"), type);
  graph.AddNode({.name = graph.FreeNodeName(stem + "_mask"),
                 .op = "Mul",
                 .inputs = {value, mask},
                 .outputs = {masked}},
                id);
  graph.SetInput(id, side.input, masked);
}

/// Zeroes the removed channels in one sum: in a constant operand if there is one, else by a mask.
void MaskSum(Graph& graph, NodeId id, const Contractions& sides, const PruneSpace& space,
             const std::vector<bool>& kept) {
  const Node node = graph.node(id);
  const auto removes = [&](const Contraction& side) {
    const auto& units = space.Units(node.inputs[side.input], side.axis);
    return KeptIndices(units, kept).size() != units.size();
  };
  if (!removes(sides[0])) return;
  // A product is 0 if one of its operands is, and zeros in a constant cost nothing when the model
  // runs.
  for (const Contraction& side : sides) {
    const ValueId value = node.inputs[side.input];
    const TensorPtr tensor = graph.constant(value);
    if (tensor == nullptr || !removes(side)) continue;
    Tensor zeroed = *tensor;
    ZeroRemoved(zeroed, side.axis, space.Units(value, side.axis), kept);
    return graph.SetConstant(value, std::make_shared<const Tensor>(std::move(zeroed)));
  }
  MultiplyByMask(graph, id, sides[0], space.Units(node.inputs[sides[0].input], sides[0].axis),
                 kept);
}

/// Returns the size of an axis if only kept units remain; 0 if it is unknown.
double KeptSize(const PruneSpace& space, ValueId value, std::size_t axis,
                const std::vector<bool>& kept) {
  const auto& units = space.Units(value, axis);
  if (!units.empty()) return static_cast<double>(KeptIndices(units, kept).size());
  const Dims* sizes = space.Sizes(value);
  return sizes == nullptr ? 0.0 : static_cast<double>(sizes->at(axis));
}

double KeptElements(const PruneSpace& space, ValueId value, const std::vector<bool>& kept) {
  const Dims* sizes = space.Sizes(value);
  if (sizes == nullptr) return 0;
  double count = 1;
  for (std::size_t axis = 0; axis < sizes->size(); ++axis) {
    count *= KeptSize(space, value, axis, kept);
  }
  return count;
}

}  // namespace

std::vector<bool> KeptUnits(const PruneSpace& space, const PrunePlan& plan) {
  std::vector<bool> kept(space.units(), true);
  for (const auto& [name, choice] : plan.groups) {
    const PruneGroup* group = space.Find(name);
    if (group == nullptr) Reject("the graph has no group '" + name + "' that can be pruned");
    if (choice.units != static_cast<std::int64_t>(group->units)) {
      Reject("group '" + name + "' has " + std::to_string(group->units) + " units, not " +
             std::to_string(choice.units) + ": the plan was made for another graph");
    }
    if (choice.keep.empty()) Reject("group '" + name + "' must keep at least one unit");
    for (std::size_t i = 0; i < choice.keep.size(); ++i) {
      const bool fits = choice.keep[i] >= 0 && choice.keep[i] < choice.units &&
                        (i == 0 || choice.keep[i - 1] < choice.keep[i]);
      if (!fits) {
        Reject("group '" + name + "': the units to keep must ascend between 0 and " +
               std::to_string(choice.units - 1));
      }
    }
    for (std::size_t i = 0; i < group->units; ++i) kept[group->first_unit + i] = false;
    for (const std::int64_t unit : choice.keep) {
      kept[group->first_unit + static_cast<std::size_t>(unit)] = true;
    }
  }
  for (const auto& [place, units] : space.axes()) {
    if (!KeptIndices(units, kept).empty()) continue;
    const auto unit = static_cast<std::size_t>(units.front());
    const auto owner = std::find_if(
        space.groups().begin(), space.groups().end(),
        [&](const PruneGroup& group) { return unit < group.first_unit + group.units; });
    Reject("a branch of group '" + owner->name + "' would be left without any channel");
  }
  return kept;
}

void ApplyPrunePlan(const PrunePlan& plan, Graph& graph) {
  if (plan.groups.empty()) return;
  const PruneSpace space(graph);
  const std::vector<bool> kept = KeptUnits(space, plan);
  Graph shrunk = graph;
  Shrinker(space, kept, shrunk).Run();
  graph = std::move(shrunk);
}

void MaskPrunePlan(const PrunePlan& plan, Graph& graph) {
  if (plan.groups.empty()) return;
  const PruneSpace space(graph);
  const std::vector<bool> kept = KeptUnits(space, plan);
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    for (const Contractions& sides : ContractionsOf(graph.node(id), space)) {
      MaskSum(graph, id, sides, space, kept);
    }
  }
}

double KeptMacs(const Graph& graph, const PruneSpace& space, NodeId id,
                const std::vector<bool>& kept) {
  const Node& node = graph.node(id);
  const std::vector<Contractions> sums = ContractionsOf(node, space);
  if (sums.empty()) return 0;
  const ValueId weights = node.inputs[1];
  if (node.op == "LSTM") {
    // Each step of each sample multiplies all weights of W and R once.
    const double steps = KeptSize(space, node.inputs[kLstmX], 0, kept) *
                         KeptSize(space, node.inputs[kLstmX], 1, kept);
    return steps *
           (KeptElements(space, weights, kept) + KeptElements(space, node.inputs[kLstmR], kept));
  }
  const double summed = KeptSize(space, weights, sums[0][0].axis, kept);
  if (!node.op.starts_with("Conv")) {
    return KeptElements(space, node.outputs[0], kept) * summed;
  }
  // Each element of the input (ConvTranspose) or of the output (Conv) takes part in one kernel.
  const bool transposed = node.op == "ConvTranspose";
  const double moved = KeptElements(space, transposed ? node.inputs[0] : node.outputs[0], kept);
  const double kernels = KeptSize(space, weights, 0, kept);
  return kernels > 0 ? moved * KeptElements(space, weights, kept) / kernels : 0;
}

double KeptBytes(const Graph& graph, const PruneSpace& space, const std::vector<bool>& kept) {
  double bytes = 0;
  for (const ValueId id : graph.constants()) {
    bytes += KeptElements(space, id, kept) * static_cast<double>(ByteSize(graph.type(id).dtype));
  }
  return bytes;
}

}  // namespace msc
