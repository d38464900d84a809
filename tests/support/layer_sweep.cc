#include "tests/support/layer_sweep.h"

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/extract.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"

namespace msc {
namespace {

NodeId NodeCalled(const Graph& graph, const std::string& name) {
  for (const NodeId id : graph.order()) {
    if (graph.node(id).name == name) return id;
  }
  throw UserError("no node '" + name + "'");
}

/// Returns `from` and all nodes that read its results over at most `steps` edges.
std::set<NodeId> Readers(const Graph& graph, NodeId from, int steps) {
  std::set<NodeId> found = {from};
  std::set<NodeId> last = found;
  for (int i = 0; i < steps; ++i) {
    std::set<NodeId> next;
    for (const NodeId id : last) {
      for (const ValueId value : graph.node(id).outputs) {
        if (value == kNoValue) continue;
        for (const Use& use : graph.uses(value)) next.insert(use.node);
      }
    }
    found.insert(next.begin(), next.end());
    last = std::move(next);
  }
  return found;
}

/// Returns the producers of the inputs of these nodes.
std::set<NodeId> Producers(const Graph& graph, const std::set<NodeId>& nodes) {
  std::set<NodeId> found;
  for (const NodeId id : nodes) {
    for (const ValueId value : graph.node(id).inputs) {
      const NodeId producer = value == kNoValue ? kNoNode : graph.producer(value);
      if (producer != kNoNode) found.insert(producer);
    }
  }
  return found;
}

}  // namespace

std::vector<Tensor> NormalInputs(const Graph& graph, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.type(id);
    Tensor& tensor = inputs.emplace_back(type.dtype, *StaticDims(*type.shape));
    if (type.dtype != DType::kF32) continue;
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return inputs;
}

LayerSweep::LayerSweep(Graph network, std::uint64_t seed)
    : network_(std::move(network)), layers_(FindQuantizableLayers(network_)) {
  const auto keep = [&](ValueId value, const Tensor& tensor) { values_.emplace(value, tensor); };
  (void)Interpret(network_, NormalInputs(network_, seed), keep);
}

std::vector<NodeId> LayerSweep::Near(NodeId layer) const {
  std::set<NodeId> found = Readers(network_, layer, 3);
  const std::set<NodeId> before = Producers(network_, found);
  const std::set<NodeId> second = Producers(network_, Producers(network_, {layer}));
  found.insert(before.begin(), before.end());
  found.insert(second.begin(), second.end());
  std::vector<NodeId> ordered;
  for (const NodeId id : network_.order()) {
    if (found.contains(id)) ordered.push_back(id);
  }
  return ordered;
}

LayerCase LayerSweep::CaseOf(const QuantizableLayer& layer, Precision precision,
                             Extent extent) const {
  LayerCase made{.layer = layer.name, .precision = precision, .graph = Graph(), .inputs = {}};
  std::vector<ValueId> inputs = network_.inputs();
  if (extent == Extent::kWhole) {
    made.graph = network_;
  } else {
    Extracted part = Extract(network_, Near(NodeCalled(network_, layer.name)));
    made.graph = std::move(part.graph);
    inputs = part.inputs;
  }
  for (const ValueId input : inputs) made.inputs.push_back(values_.at(input));
  return made;
}

Strategy StrategyOf(const LayerCase& layer_case) {
  const Graph& graph = layer_case.graph;
  Strategy strategy;
  strategy.quantize.layers[layer_case.layer] = layer_case.precision;
  if (layer_case.precision != Precision::kInt8) return strategy;
  Calibrator calibrator(graph);
  const std::set<std::string> wanted(calibrator.tensors().begin(), calibrator.tensors().end());
  const auto observe = [&](ValueId value, const Tensor& tensor) {
    const std::string& name = graph.value(value).name;
    if (wanted.contains(name)) calibrator.Observe(name, tensor.Values<float>());
  };
  (void)Interpret(graph, layer_case.inputs, observe);
  strategy.quantize.activations = calibrator.Scales({.method = "minmax"});
  return strategy;
}

std::optional<std::string> WrongOn(const std::string& target, const LayerCase& layer_case,
                                   Strategy strategy, const Agreement& agreement,
                                   const TargetRegistry& registry) {
  strategy.target = target;
  try {
    Result<Executable> built = Compile(layer_case.graph, strategy, registry, {});
    if (!built.ok()) return "does not build: " + built.failure().detail;
    const std::vector<Tensor> got = built.value().Run(layer_case.inputs);
    if (auto wrong = agreement.Wrong(got)) return wrong;
    if (built.value().Run(layer_case.inputs) != got)
      return "gives other numbers when it runs again";
    return std::nullopt;
  } catch (const std::exception& error) {
    return "throws: " + std::string(error.what());
  }
}

}  // namespace msc
