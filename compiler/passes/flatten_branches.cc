#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"
#include "compiler/passes/inline_graph.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// Nodes of a graph beyond which branches stay nested.
constexpr std::int64_t kMostNodes = 20'000;

/// A branch in canonical form, with the types that the values around it have.
struct KnownBranch {
  std::optional<Graph> graph;  ///< absent if one of these types or one of an output is not known
  std::string misfit;          ///< why no value of these types fits the branch; mostly empty
};

KnownBranch ReadBranch(const Graph& outer, const Node& node, const char* name) {
  const auto it = node.attrs.find(name);
  const auto* nested = it == node.attrs.end() ? nullptr : std::get_if<GraphPtr>(&it->second);
  if (nested == nullptr || (*nested)->outputs().size() != node.outputs.size()) return {};
  Graph branch = **nested;
  for (const ValueId id : branch.captured()) {
    const ValueId around = outer.FindValue(branch.value(id).name);
    if (around == kNoValue || !HasFixedSize(outer.type(around))) return {};
    branch.SetType(id, outer.type(around));
  }
  try {
    InferTypes(branch);
    Canonicalize(branch);
  } catch (const UserError& error) {
    return {.graph = {}, .misfit = error.what()};
  }
  const auto& outputs = branch.outputs();
  const bool known = std::all_of(outputs.begin(), outputs.end(),
                                 [&](ValueId id) { return HasFixedSize(branch.type(id)); });
  if (!known) return {};
  return {.graph = std::move(branch), .misfit = ""};
}

bool GiveAlike(const Graph& a, const Graph& b) {
  for (std::size_t i = 0; i < a.outputs().size(); ++i) {
    if (!(a.type(a.outputs()[i]) == b.type(b.outputs()[i]))) return false;
  }
  return true;
}

/// Adds the nodes of a branch in front of `id`. In place of one that does not fit: a node that
/// refuses to run, with outputs of the types of `other`.
std::vector<ValueId> Added(Graph& graph, NodeId id, ValueId condition, const KnownBranch& branch,
                           const Graph& other) {
  if (branch.graph) return Inliner(graph, id, *branch.graph).Copy({});
  const std::string name = graph.FreeNodeName(graph.node(id).name + ".refuse");
  std::vector<ValueId> outputs;
  for (const ValueId like : other.outputs()) {
    outputs.push_back(graph.AddValue(graph.FreeValueName(name), other.type(like)));
  }
  graph.AddNode({.name = name,
                 .op = "Refuse",
                 .domain = "msc",
                 .inputs = {condition},
                 .outputs = outputs,
                 .attrs = {{"message", "the branch does not fit the sizes of the model's inputs: " +
                                           branch.misfit}}},
                id);
  return outputs;
}

bool Flatten(Graph& graph, NodeId id, Misfits misfits) {
  const Node node = graph.node(id);  // a copy: the graph changes
  const ValueId condition = node.Input(0);
  if (condition == kNoValue || !HasFixedSize(graph.type(condition))) return false;
  const KnownBranch yes = ReadBranch(graph, node, "then_branch");
  if (!yes.graph && yes.misfit.empty()) return false;
  const KnownBranch no = ReadBranch(graph, node, "else_branch");
  if (!no.graph && no.misfit.empty()) return false;
  const bool both = yes.graph && no.graph;
  if (!both && (misfits == Misfits::kKeep || (!yes.graph && !no.graph))) return false;
  if (both && !GiveAlike(*yes.graph, *no.graph)) return false;
  std::int64_t nodes = std::ssize(graph.order());
  for (const auto* branch : {&yes, &no}) {
    if (branch->graph) nodes += CountContents(*branch->graph).total_nodes;
  }
  if (nodes > kMostNodes) return false;

  Inserter inserter(graph, id);
  ValueId truth = condition;
  // A list of one boolean would give a number an axis.
  if (!graph.type(condition).shape->empty()) truth = inserter.Add("Squeeze", {condition});
  const Graph& fits = yes.graph ? *yes.graph : *no.graph;
  const std::vector<ValueId> of_yes = Added(graph, id, truth, yes, fits);
  const std::vector<ValueId> of_no = Added(graph, id, truth, no, fits);
  std::vector<std::pair<ValueId, std::string>> renames;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    const ValueId chosen = inserter.Add("Where", {truth, of_yes[i], of_no[i]});
    renames.emplace_back(chosen, graph.value(node.outputs[i]).name);
    graph.ReplaceUses(node.outputs[i], chosen);
  }
  graph.RemoveNode(id);
  for (auto& [value, name] : renames) graph.RenameValue(value, std::move(name));
  return true;
}

}  // namespace

bool FlattenBranches(Graph& graph, Misfits misfits) {
  return Sweep(graph, [&](NodeId id) {
    if (!graph.node(id).Is("If") || !Flatten(graph, id, misfits)) return false;
    // Later ones may read what is known now.
    InferTypes(graph);
    return true;
  });
}

}  // namespace msc
