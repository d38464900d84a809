#include "compiler/pipeline/partly_compiled.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ir/extract.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

bool HasFixedOutputs(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id == kNoValue || HasFixedSize(graph.type(id)); });
}

bool IsCompilable(const Graph& graph, const Node& node) {
  const OpDef* op = Ops().Find(node.domain, node.op);
  return op != nullptr && op->computes_tensors && node.captures.empty() &&
         HasFixedOutputs(graph, node);
}

/// Returns the nodes that depend on nothing that a run decides, in the graph's order.
std::vector<NodeId> FixedNodes(const Graph& graph) {
  std::set<ValueId> open;  // values of other nodes
  std::vector<NodeId> fixed;
  for (const ValueId id : graph.inputs()) {
    if (!HasFixedSize(graph.type(id))) open.insert(id);
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool reads_open = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
      return in != kNoValue && open.contains(in);
    });
    if (!reads_open && IsCompilable(graph, node)) {
      fixed.push_back(id);
    } else {
      open.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  return fixed;
}

/// Returns the graph without `fixed`: the values in `crossing` become further inputs.
Graph WithoutNodes(Graph graph, const std::vector<NodeId>& fixed,
                   const std::vector<ValueId>& crossing) {
  for (const ValueId id : crossing) {
    const std::string name = graph.value(id).name;
    graph.RenameValue(id, graph.FreeValueName(name + ".compiled"));
    const ValueId input = graph.AddInput(name, graph.type(id));
    graph.ReplaceUses(id, input);
  }
  // clang 14 cannot compile libstdc++'s std::views::reverse.
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (auto it = fixed.rbegin(); it != fixed.rend(); ++it) graph.RemoveNode(*it);
  RemoveDeadCode(graph);
  return graph;
}

}  // namespace

std::optional<std::string> FirstDecidedInRun(const Graph& bound) {
  for (const NodeId id : bound.order()) {
    const Node& node = bound.node(id);
    // Targets take no strings, also where what a node makes of them has a known size.
    const bool reads_open = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
      return in != kNoValue && !bound.constant(in) && !HasFixedSize(bound.type(in));
    });
    if (reads_open || !HasFixedOutputs(bound, node)) return node.name;
  }
  return std::nullopt;
}

Result<PartlyCompiled> PartlyCompiled::Build(const Graph& canonical, const Strategy& strategy,
                                             const TargetRegistry& registry,
                                             const CompileOptions& options) {
  if (!strategy.partition.empty()) {
    throw UserError(
        "the strategy has a partition, and some sizes of the model are only known in "
        "a run");
  }
  const Graph bound = BindSizes(ApplyStrategy(canonical, strategy), options);
  PartlyCompiled model;
  for (const ValueId id : bound.inputs()) model.input_types_.push_back(bound.type(id));
  const std::vector<NodeId> nodes = FixedNodes(bound);
  if (nodes.empty()) {
    model.rest_ = bound;
    return model;
  }
  Extracted fixed = Extract(bound, nodes);
  for (const ValueId id : fixed.inputs) {
    const auto at = std::find(bound.inputs().begin(), bound.inputs().end(), id);
    Check(at != bound.inputs().end(), "fixed nodes read inputs and each other");
    model.fixed_inputs_.push_back(static_cast<std::size_t>(at - bound.inputs().begin()));
  }
  model.compiled_nodes_ = nodes.size();
  model.rest_ = WithoutNodes(bound, nodes, fixed.outputs);
  const Lowered lowered = LowerFor(fixed.graph, strategy, registry, {.threads = options.threads});
  Result<Executable> built = BuildExecutable(lowered, registry, {.threads = options.threads});
  if (!built.ok()) return built.failure();
  model.fixed_ = std::move(built).value();
  return model;
}

std::vector<RunValue> PartlyCompiled::Run(std::span<const Tensor> inputs) const {
  if (inputs.size() != input_types_.size()) {
    throw UserError("the model takes " + std::to_string(input_types_.size()) + " inputs, not " +
                    std::to_string(inputs.size()));
  }
  std::vector<RunValue> values;
  for (const Tensor& input : inputs) values.push_back(RunValueOf(input));
  if (fixed_) {
    std::vector<Tensor> given;
    for (const std::size_t at : fixed_inputs_) given.push_back(inputs[at]);
    for (Tensor& made : fixed_->Run(given)) values.push_back(RunValueOf(std::move(made)));
  }
  return InterpretValues(rest_, values);
}

}  // namespace msc
