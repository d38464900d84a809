#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/count_iterations.h"
#include "compiler/passes/inline_graph.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// Nodes of a graph beyond which loops stay: loops in loops would multiply.
constexpr std::int64_t kMostNodes = 20'000;

const Graph* NestedGraph(const Node& node, std::string_view name) {
  const auto it = node.attrs.find(name);
  const auto* nested = it == node.attrs.end() ? nullptr : std::get_if<GraphPtr>(&it->second);
  return nested == nullptr ? nullptr : nested->get();
}

std::optional<bool> TruthOf(const TensorPtr& value) {
  if (value == nullptr || value->dtype() != DType::kBool || value->size() != 1) return std::nullopt;
  return value->Values<std::uint8_t>()[0] != 0;
}

/// Adds the nodes that stand for one node with a nested graph, in front of it.
class Unroller {
 public:
  Unroller(Graph& graph, NodeId id)
      : graph_(graph), id_(id), node_(graph.node(id)), inserter_(graph, id) {}

  /// Returns whether the node is gone.
  [[nodiscard]] bool Run() {
    std::optional<std::vector<ValueId>> made;
    if (node_.Is("If")) made = If();
    if (node_.Is("Loop")) made = Loop();
    if (node_.Is("Scan")) made = Scan();
    if (node_.Is("SequenceMap")) made = SequenceMap();
    if (!made) return false;
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      if (node_.outputs[i] != kNoValue) Replace(node_.outputs[i], (*made)[i]);
    }
    graph_.RemoveNode(id_);
    for (auto& [value, name] : renames_) graph_.RenameValue(value, std::move(name));
    return true;
  }

 private:
  [[nodiscard]] std::optional<std::vector<ValueId>> If();
  [[nodiscard]] std::optional<std::vector<ValueId>> Loop();
  [[nodiscard]] std::optional<std::vector<ValueId>> Scan();
  [[nodiscard]] std::optional<std::vector<ValueId>> SequenceMap();

  /// Makes the readers of an output read an Identity of `made`, which may be any value.
  void Replace(ValueId output, ValueId made) {
    const ValueId copy = inserter_.Add("Identity", {made});
    graph_.ReplaceUses(output, copy);
    renames_.emplace_back(copy, graph_.value(output).name);
  }
  /// Joins values along a new axis.
  ValueId Stack(std::vector<ValueId> parts, std::int64_t axis) {
    const ValueId axes = inserter_.List(std::span(&axis, 1));
    for (ValueId& part : parts) part = inserter_.Add("Unsqueeze", {part, axes});
    return inserter_.Add("Concat", std::move(parts), {{"axis", axis}});
  }
  /// Returns how many copies of a body the graph has room for.
  [[nodiscard]] std::int64_t MostUnrolled(const Graph& body) const {
    const std::int64_t each = CountContents(body).total_nodes + 1;
    return (kMostNodes - std::ssize(graph_.order())) / each;
  }
  /// Without an iteration, the types of what is collected are not known.
  [[nodiscard]] bool MayUnroll(const Graph& body, std::int64_t iterations) const {
    return iterations > 0 && iterations <= MostUnrolled(body);
  }
  Graph& graph_;
  NodeId id_;
  Node node_;  // a copy: the graph changes
  Inserter inserter_;
  std::vector<std::pair<ValueId, std::string>> renames_ = {};
};

std::optional<std::vector<ValueId>> Unroller::If() {
  const auto truth = TruthOf(graph_.constant(node_.Input(0)));
  if (!truth) return std::nullopt;
  const Graph* branch = NestedGraph(node_, *truth ? "then_branch" : "else_branch");
  if (branch == nullptr || branch->outputs().size() < node_.outputs.size()) return std::nullopt;
  return Inliner(graph_, id_, *branch).Copy({});
}

std::optional<std::vector<ValueId>> Unroller::Loop() {
  const Graph* body = NestedGraph(node_, "body");
  if (body == nullptr || node_.inputs.size() != body->inputs().size() ||
      body->outputs().size() + 1 < node_.inputs.size() || node_.inputs.size() < 2) {
    return std::nullopt;
  }
  const auto iterations = CountIterations(graph_, node_, *body, MostUnrolled(*body));
  if (!iterations || !MayUnroll(*body, *iterations)) return std::nullopt;

  const auto carried = static_cast<std::ptrdiff_t>(node_.inputs.size()) - 2;
  std::vector<ValueId> state(node_.inputs.begin() + 1, node_.inputs.end());
  if (state[0] == kNoValue) {
    const std::uint8_t yes = 1;
    state[0] = graph_.AddConstant(graph_.FreeValueName(node_.name + ".condition"),
                                  Tensor::From<std::uint8_t>(DType::kBool, {}, std::span(&yes, 1)));
  }
  std::vector<std::vector<ValueId>> collected(body->outputs().size() - 1 -
                                              static_cast<std::size_t>(carried));
  Inliner inliner(graph_, id_, *body);
  for (std::int64_t i = 0; i < *iterations; ++i) {
    std::vector<ValueId> inputs = {inserter_.Int(i)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const std::vector<ValueId> made = inliner.Copy(inputs);
    state.assign(made.begin(), made.begin() + 1 + carried);
    for (std::size_t k = 0; k < collected.size(); ++k) {
      collected[k].push_back(made[static_cast<std::size_t>(carried) + 1 + k]);
    }
  }
  std::vector<ValueId> outputs(state.begin() + 1, state.end());
  for (auto& parts : collected) outputs.push_back(Stack(std::move(parts), 0));
  return outputs;
}

/// Returns entry `index` of a list attribute, or 0.
std::int64_t EntryOf(const Node& node, const char* name, std::size_t index) {
  const auto list = AttrOr(node, name, std::vector<std::int64_t>());
  return index < list.size() ? list[index] : 0;
}

/// A value that a Scan goes through.
struct ScanInput {
  ValueId value = kNoValue;
  std::int64_t axis = 0;
  bool reversed = false;
};

/// Returns the scanned values if they have one known length along their axes, which is at least 1.
std::vector<ScanInput> ScannedOf(const Graph& graph, const Node& node, std::size_t states,
                                 std::int64_t& length) {
  std::vector<ScanInput> scanned;
  length = 0;
  for (std::size_t i = 0; states + i < node.inputs.size(); ++i) {
    const ValueId value = node.inputs[states + i];
    const auto& shape = graph.type(value).shape;
    if (!shape) return {};
    const std::int64_t given = EntryOf(node, "scan_input_axes", i);
    const std::int64_t axis = given < 0 ? given + std::ssize(*shape) : given;
    if (axis < 0 || axis >= std::ssize(*shape)) return {};
    const Dim& dim = (*shape)[static_cast<std::size_t>(axis)];
    if (!dim.known() || (i > 0 && dim.size() != length)) return {};
    length = dim.size();
    scanned.push_back(
        {.value = value, .axis = axis, .reversed = EntryOf(node, "scan_input_directions", i) != 0});
  }
  return scanned;
}

std::optional<std::vector<ValueId>> Unroller::Scan() {
  const Graph* body = NestedGraph(node_, "body");
  const std::int64_t scans = AttrOr(node_, "num_scan_inputs", std::int64_t{0});
  if (body == nullptr || scans < 1 || scans > std::ssize(node_.inputs) ||
      body->inputs().size() != node_.inputs.size()) {
    return std::nullopt;
  }
  const std::size_t states = node_.inputs.size() - static_cast<std::size_t>(scans);
  std::int64_t length = 0;
  const std::vector<ScanInput> scanned = ScannedOf(graph_, node_, states, length);
  if (scanned.empty() || body->outputs().size() < states || !MayUnroll(*body, length)) {
    return std::nullopt;
  }
  std::vector<ValueId> state(node_.inputs.begin(),
                             node_.inputs.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<ValueId>> collected(body->outputs().size() - states);
  Inliner inliner(graph_, id_, *body);
  for (std::int64_t i = 0; i < length; ++i) {
    std::vector<ValueId> inputs = state;
    for (const ScanInput& one : scanned) {
      const std::int64_t at = one.reversed ? length - 1 - i : i;
      const ValueId axes = inserter_.List(std::span(&one.axis, 1));
      const std::int64_t next = at + 1;
      const ValueId from = inserter_.List(std::span(&at, 1));
      const ValueId to = inserter_.List(std::span(&next, 1));
      const ValueId slice = inserter_.Add("Slice", {one.value, from, to, axes});
      inputs.push_back(inserter_.Add("Squeeze", {slice, axes}));
    }
    std::vector<ValueId> made = inliner.Copy(inputs);
    for (std::size_t k = 0; k < collected.size(); ++k) collected[k].push_back(made[states + k]);
    made.resize(states);
    state = std::move(made);
  }
  for (std::size_t k = 0; k < collected.size(); ++k) {
    if (EntryOf(node_, "scan_output_directions", k) != 0) {
      std::reverse(collected[k].begin(), collected[k].end());
    }
    state.push_back(Stack(std::move(collected[k]), EntryOf(node_, "scan_output_axes", k)));
  }
  return state;
}

std::optional<std::vector<ValueId>> Unroller::SequenceMap() {
  const Graph* body = NestedGraph(node_, "body");
  const auto first = SequenceTensors(graph_, node_.Input(0));
  if (body == nullptr || !first || body->inputs().size() != node_.inputs.size() ||
      !MayUnroll(*body, std::ssize(*first))) {
    return std::nullopt;
  }
  std::vector<std::vector<ValueId>> given(first->size());
  for (const ValueId input : node_.inputs) {
    const bool sequence = graph_.type(input).container == Container::kSequence;
    const auto tensors = SequenceTensors(graph_, input);
    if (sequence && (!tensors || tensors->size() != first->size())) return std::nullopt;
    for (std::size_t i = 0; i < given.size(); ++i) {
      given[i].push_back(sequence ? (*tensors)[i] : input);
    }
  }
  std::vector<std::vector<ValueId>> made(body->outputs().size());
  Inliner inliner(graph_, id_, *body);
  for (const auto& inputs : given) {
    const std::vector<ValueId> outputs = inliner.Copy(inputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) made[k].push_back(outputs[k]);
  }
  std::vector<ValueId> sequences;
  sequences.reserve(made.size());
  for (auto& tensors : made)
    sequences.push_back(inserter_.Add("SequenceConstruct", std::move(tensors)));
  return sequences;
}

}  // namespace

bool UnrollLoops(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const bool nested =
        std::any_of(graph.node(id).attrs.begin(), graph.node(id).attrs.end(),
                    [](const auto& attr) { return std::holds_alternative<GraphPtr>(attr.second); });
    if (nested) changed |= Unroller(graph, id).Run();
  }
  if (changed) InferTypes(graph);
  return changed;
}

}  // namespace msc
