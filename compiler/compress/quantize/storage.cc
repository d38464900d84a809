#include "compiler/compress/quantize/storage.h"

#include <algorithm>
#include <utility>

#include "compiler/passes/activation.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Wanted = std::map<ValueId, std::set<Precision>>;

bool IsAveraging(const Node& node) {
  return node.Is("AveragePool") || node.Is("GlobalAveragePool");
}

bool IsBinary(const Node& node) {
  return node.Is("Add") || node.Is("Mul");
}

// An operator other than a layer that FuseOps can run on narrow values, with the values that it
// ends in: one, but for Split.
struct Through {
  NodeId node = kNoNode;
  std::vector<ValueId> inputs = {};
  std::vector<ValueId> outputs = {};
};

std::map<NodeId, Through> FindThroughs(const Graph& graph, const std::vector<LayerChain>& chains) {
  std::set<NodeId> taken;
  for (const LayerChain& chain : chains) {
    for (const NodeId id : chain.Nodes()) taken.insert(id);
  }
  std::map<NodeId, Through> found;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (taken.contains(id)) continue;
    Through through{.node = id, .outputs = node.outputs};
    if (node.Is("Concat")) {
      through.inputs = node.inputs;
    } else if (KeepsRange(node) || IsAveraging(node)) {
      through.inputs = {node.inputs.front()};
    } else if (IsBinary(node)) {
      through.inputs = node.inputs;
      const ActivationMatch match = FindActivation(graph, node.outputs.front());
      if (!match.nodes.empty() && match.slope == kNoValue) {
        through.outputs = graph.node(match.nodes.back()).outputs;
        taken.insert(match.nodes.begin(), match.nodes.end());
      }
    } else {
      continue;
    }
    found.emplace(id, std::move(through));
  }
  return found;
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<LayerChain>& chains,
          const LayerPrecisions& precisions, const std::set<ValueId>& scaled)
      : graph_(graph),
        precisions_(precisions),
        scaled_(scaled),
        throughs_(FindThroughs(graph, chains)) {
    for (const LayerChain& chain : chains) by_producer_.emplace(chain.producer, &chain);
  }

  StoragePlan Run() {
    FindWanted();
    for (const NodeId id : graph_.order()) Decide(id);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Precision PrecisionOf(NodeId producer) const {
    const auto it = precisions_.find(producer);
    return it == precisions_.end() ? Precision::kF32 : it->second;
  }

  // First come the values that layers can use in narrow form. Then, from the back, an operator
  // wants for its inputs what is wanted for its output. Layers come first because a residual may be
  // made behind the layer that adds it.
  void FindWanted() {
    for (const auto& [producer, chain] : by_producer_) WantForLayer(*chain);
    std::vector<NodeId> order = graph_.order();
    std::reverse(order.begin(), order.end());
    for (const NodeId id : order) {
      const auto through = throughs_.find(id);
      if (through == throughs_.end()) continue;
      for (const ValueId output : through->second.outputs) {
        const auto wanted = wanted_[output];
        for (const ValueId input : through->second.inputs) {
          wanted_[input].insert(wanted.begin(), wanted.end());
        }
      }
    }
  }

  void WantForLayer(const LayerChain& chain) {
    const Precision precision = PrecisionOf(chain.producer);
    if (precision == Precision::kF32) return;
    wanted_[graph_.node(chain.producer).inputs[0]].insert(precision);
    if (chain.residual_add == kNoNode) return;
    wanted_[graph_.node(chain.residual_add).inputs[chain.residual_input]].insert(precision);
  }

  // Returns the precision in which `value` reaches its readers.
  [[nodiscard]] Precision HandedOn(ValueId value) const {
    for (const auto* values : {&plan_.stored, &plan_.inherited}) {
      const auto it = values->find(value);
      if (it != values->end()) return it->second;
    }
    return Precision::kF32;
  }

  void Decide(NodeId id) {
    if (const auto chain = by_producer_.find(id); chain != by_producer_.end()) {
      const ValueId output = chain->second->output;
      if (MeetsConstant(output)) {
        passed_.emplace(output, PrecisionOf(id));
      } else {
        Store(output, PrecisionOf(id));
      }
      return;
    }
    const auto it = throughs_.find(id);
    if (it == throughs_.end()) return;
    const Through& through = it->second;
    for (const ValueId input : through.inputs) {
      const auto passed = passed_.find(input);
      if (passed == passed_.end()) continue;
      Store(through.outputs.front(), passed->second);
      return;
    }
    const Precision precision = HandedOn(through.inputs.front());
    const bool same = std::all_of(through.inputs.begin(), through.inputs.end(),
                                  [&](ValueId input) { return HandedOn(input) == precision; });
    if (!same || precision == Precision::kF32) return;
    const Node& node = graph_.node(id);
    if (KeepsRange(node) && !node.Is("Concat")) {
      for (const ValueId output : through.outputs) plan_.inherited.emplace(output, precision);
    } else {
      // Concat may join values of several scales, and other operators make new values, so the
      // result has a scale of its own.
      Store(through.outputs.front(), precision);
    }
  }

  // Returns whether the only reader of a layer's output adds a constant to it, or multiplies it by
  // one. The sum is then stored instead, rounded once.
  [[nodiscard]] bool MeetsConstant(ValueId value) const {
    const auto reader = OnlyReader(graph_, value);
    if (!reader || !IsBinary(graph_.node(reader->node)) || !throughs_.contains(reader->node)) {
      return false;
    }
    return graph_.constant(graph_.node(reader->node).inputs[1 - reader->index]) != nullptr;
  }

  void Store(ValueId value, Precision precision) {
    const auto wanted = wanted_.find(value);
    if (precision == Precision::kF32 || wanted == wanted_.end() ||
        !wanted->second.contains(precision) || graph_.IsOutput(value) ||
        IsCaptured(graph_, value)) {
      return;
    }
    if (precision == Precision::kInt8 && !scaled_.contains(value)) return;
    plan_.stored.emplace(value, precision);
  }

  const Graph& graph_;
  const LayerPrecisions& precisions_;
  const std::set<ValueId>& scaled_;
  std::map<NodeId, Through> throughs_;
  std::map<NodeId, const LayerChain*> by_producer_;
  Wanted wanted_;
  std::map<ValueId, Precision> passed_;  ///< outputs of layers that are not stored: MeetsConstant
  StoragePlan plan_;
};

}  // namespace

std::vector<LayerChain> FloatLayerChains(const Graph& graph) {
  std::vector<LayerChain> chains = FindLayerChains(graph);
  std::erase_if(chains, [&](const LayerChain& chain) {
    // Skip layers whose weights come from DequantizeLinear or Cast: the model was quantized before
    // the import. Skip layers that read constants only, which graph outputs keep alive: no sample
    // has their inputs.
    const std::vector<ValueId>& inputs = graph.node(chain.producer).inputs;
    return graph.constant(inputs[1]) == nullptr || graph.constant(inputs[0]) != nullptr;
  });
  return chains;
}

bool KeepsRange(const Node& node) {
  return node.Is("MaxPool") || node.Is("Concat") || node.Is("Split") || node.Is("Reshape") ||
         node.Is("Flatten") || node.Is("Transpose") || node.Is("Squeeze") || node.Is("Unsqueeze");
}

StoragePlan PlanStorage(const Graph& graph, const std::vector<LayerChain>& chains,
                        const LayerPrecisions& precisions, const std::set<ValueId>& scaled) {
  return Planner(graph, chains, precisions, scaled).Run();
}

}  // namespace msc
