#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/prune/kept.h"
#include "compiler/compress/prune/node_axes.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/unshare.h"
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
    if (node.op == "Squeeze") NameSqueezed(id);
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
    if (!target) return AdaptJoinedTarget(id, input);
    ShrinkTarget(node.outputs[0], space_.Sizes(node.outputs[0])->size() - target->size(), *target);
    ReplaceConstant(graph_, id, input, IntList(*target));
  }

  /// Updates entries of a target shape, the first of which stands for axis `first` of the output.
  void ShrinkTarget(ValueId output, std::size_t first, std::vector<std::int64_t>& entries) const {
    const Dims& sizes = *space_.Sizes(output);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      // A 1 in Expand takes the size of the other operand.
      if (entries[i] == sizes[first + i] && entries[i] > 1) entries[i] = Size(output, first + i);
    }
  }

  /// Updates the constant parts of a target shape that a Concat makes, for this reader alone.
  void AdaptJoinedTarget(NodeId id, std::size_t input) {
    const Node& node = before_.node(id);
    if (node.op != "Reshape" || !ReadTarget(before_, node.inputs[input])) return;
    const NodeId producer = before_.producer(node.inputs[input]);
    const Node& written = before_.node(producer);
    Node joined{.name = graph_.FreeNodeName(written.name), .op = "Concat", .attrs = written.attrs};
    std::size_t axis = 0;
    for (const ValueId part : written.inputs) {
      auto entries = ConstantList(before_, part);
      joined.inputs.push_back(part);
      if (entries) {
        ShrinkTarget(node.outputs[0], axis, *entries);
        const std::string name = graph_.FreeValueName(before_.value(part).name);
        joined.inputs.back() = graph_.AddConstant(name, IntList(*entries));
      }
      axis += entries ? entries->size() : 1;
    }
    const ValueType type = graph_.type(node.inputs[input]);
    const std::string name = graph_.FreeValueName(before_.value(node.inputs[input]).name);
    joined.outputs = {graph_.AddValue(name, type)};
    const ValueId target = joined.outputs[0];
    graph_.AddNode(std::move(joined), id);
    graph_.SetInput(id, input, target);
    const bool unread = graph_.uses(written.outputs[0]).empty();
    if (unread && !graph_.IsOutput(written.outputs[0])) graph_.RemoveNode(producer);
  }

  void AdaptSplit(NodeId id) {
    const Node& node = before_.node(id);
    const Dims& sizes = *space_.Sizes(node.inputs[0]);
    std::int64_t axis = AttrOr(node, "axis", std::int64_t{0});
    if (axis < 0) axis += std::ssize(sizes);
    auto parts = ReadSplit(before_, node, sizes.at(static_cast<std::size_t>(axis))).value();
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
    wider.attrs.erase("num_outputs");  // it stands for equal parts
    ReplaceNode(id, std::move(wider));
  }

  /// Without a list, a Squeeze would drop an axis that was cut down to one entry.
  void NameSqueezed(NodeId id) {
    Node named = graph_.node(id);
    if (named.HasInput(1)) return;
    const std::vector<std::int64_t> axes = AxesOfOne(*space_.Sizes(before_.node(id).inputs[0]));
    named.inputs.resize(1);
    named.inputs.push_back(
        graph_.AddConstant(graph_.FreeValueName(named.name + "_axes"), IntList(axes)));
    ReplaceNode(id, std::move(named));
  }

  /// Puts a node in the place of another one. It has the names of that one and of its outputs.
  void ReplaceNode(NodeId id, Node made) {
    const Node old = graph_.node(id);
    for (ValueId& out : made.outputs) {
      if (out == kNoValue) continue;
      out = graph_.AddValue(graph_.FreeValueName(graph_.value(out).name), graph_.type(out));
    }
    made.name = graph_.FreeNodeName(old.name);
    const std::vector<ValueId> fresh = made.outputs;
    const NodeId anew = graph_.AddNode(std::move(made), id);
    std::vector<std::string> names(fresh.size());
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      if (fresh[i] == kNoValue) continue;
      names[i] = graph_.value(old.outputs[i]).name;
      graph_.ReplaceUses(old.outputs[i], fresh[i]);
    }
    graph_.RemoveNode(id);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      if (fresh[i] != kNoValue) graph_.RenameValue(fresh[i], names[i]);
    }
    graph_.RenameNode(anew, old.name);
  }

  /// Returns the new numbers of those picks of an axis that stay.
  [[nodiscard]] std::vector<std::int64_t> Renumbered(ValueId data, std::size_t axis,
                                                     const std::vector<std::int64_t>& picks) const {
    const std::vector<std::int32_t>& units = space_.Units(data, axis);
    std::vector<std::int64_t> renumbered;
    for (const std::int64_t pick : picks) {
      const std::int32_t unit = units.empty() ? -1 : units[static_cast<std::size_t>(pick)];
      if (unit >= 0 && !kept_[static_cast<std::size_t>(unit)]) continue;
      renumbered.push_back(Kept(data, axis, 0, pick));
    }
    return renumbered;
  }

  /// The lists of a Slice node.
  struct SliceLists {
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> axes;
    std::vector<std::int64_t> steps;

    void Add(std::size_t axis, const SliceCut& cut) {
      starts.push_back(cut.first);
      // In front of the first entry is no index that could be written as one.
      ends.push_back(cut.end < 0 ? std::numeric_limits<std::int64_t>::min() : cut.end);
      axes.push_back(static_cast<std::int64_t>(axis));
      steps.push_back(cut.step);
    }
  };

  void AdaptSlice(NodeId id) {
    const Node& node = before_.node(id);
    const ValueId data = node.inputs[0];
    const Dims& sizes = *space_.Sizes(data);
    SliceLists lists;
    std::map<std::size_t, std::vector<std::int64_t>> gathered;  // by axis
    bool changes = false;
    const std::map<std::size_t, SliceCut> cuts = ReadSlice(before_, node, sizes).value();
    for (const auto& [axis, cut] : cuts) {
      const bool shrinks = Size(data, axis) != sizes[axis];
      changes = changes || shrinks;
      if (!shrinks) {
        lists.Add(axis, cut);
      } else if (cut.step == 1) {
        lists.Add(axis,
                  {.first = Kept(data, axis, 0, cut.first), .end = Kept(data, axis, 0, cut.end)});
      } else {
        const std::vector<std::int64_t> picks = Renumbered(data, axis, PicksOf(cut));
        const auto even = EvenCut(picks);
        if (even) lists.Add(axis, *even);
        if (!even) gathered.emplace(axis, picks);
      }
    }
    // If only other axes were cut, keep the bounds as they are written; they may run backwards.
    if (changes) RewriteSlice(id, lists, gathered);
  }

  /// Returns the cut that takes these indices, if their distances are equal.
  static std::optional<SliceCut> EvenCut(const std::vector<std::int64_t>& picks) {
    if (picks.empty()) return std::nullopt;
    SliceCut cut{.first = picks.front(), .step = picks.size() < 2 ? 1 : picks[1] - picks[0]};
    cut.end = picks.back() + (cut.step > 0 ? 1 : -1);
    return PicksOf(cut) == picks ? std::optional(cut) : std::nullopt;
  }

  /// Writes the lists of a Slice. Axes of which it keeps indices at uneven distances become Gather
  /// nodes in front of it, or in its place if it has no other axes.
  void RewriteSlice(NodeId id, const SliceLists& lists,
                    const std::map<std::size_t, std::vector<std::int64_t>>& gathered) {
    std::size_t left = gathered.size();
    for (const auto& [axis, picks] : gathered) {
      Node gather{.op = "Gather"};
      const Node& slice = graph_.node(id);
      const std::string stem = slice.name + "_picks";
      ValueType type = graph_.type(slice.inputs[0]);
      if (type.shape) (*type.shape)[axis] = Dim(std::ssize(picks));
      gather.inputs = {slice.inputs[0],
                       graph_.AddConstant(graph_.FreeValueName(stem), IntList(picks))};
      gather.attrs["axis"] = static_cast<std::int64_t>(axis);
      gather.outputs = slice.outputs;
      if (--left == 0 && lists.axes.empty()) return ReplaceNode(id, std::move(gather));
      gather.name = graph_.FreeNodeName(stem);
      gather.outputs = {graph_.AddValue(graph_.FreeValueName(stem), type)};
      const ValueId picked = gather.outputs[0];
      graph_.AddNode(std::move(gather), id);
      graph_.SetInput(id, 0, picked);
    }
    const std::vector<const std::vector<std::int64_t>*> inputs = {&lists.starts, &lists.ends,
                                                                  &lists.axes, &lists.steps};
    Node slice = graph_.node(id);
    slice.inputs.resize(1);
    for (const std::vector<std::int64_t>* list : inputs) {
      slice.inputs.push_back(
          graph_.AddConstant(graph_.FreeValueName(slice.name + "_bounds"), IntList(*list)));
    }
    ReplaceNode(id, std::move(slice));
  }

  void AdaptPicks(NodeId id) {
    const Node& node = before_.node(id);
    const Dims& sizes = *space_.Sizes(node.inputs[0]);
    std::int64_t axis = AttrOr(node, "axis", std::int64_t{0});
    if (axis < 0) axis += std::ssize(sizes);
    const auto along = static_cast<std::size_t>(axis);
    auto picks = ConstantList(before_, node.inputs[1]);
    if (!picks || Size(node.inputs[0], along) == sizes[along]) return;
    for (std::int64_t& pick : *picks) pick += pick < 0 ? sizes[along] : 0;
    ReplaceConstant(graph_, id, 1, IntList(Renumbered(node.inputs[0], along, *picks)));
  }

  const PruneSpace& space_;
  const std::vector<bool>& kept_;
  const Graph before_;
  Graph& graph_;
};

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
  Graph shrunk = graph;
  // Layers that share a bias may keep different channels.
  UnshareLists(shrunk);
  const PruneSpace space(shrunk);
  const std::vector<bool> kept = KeptUnits(space, plan);
  Shrinker(space, kept, shrunk).Run();
  graph = std::move(shrunk);
}

}  // namespace msc
