#include "tests/fuzz/differential.h"

#include <algorithm>
#include <exception>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compiler/base/hash.h"
#include "compiler/base/rng.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "tests/support/agreement.h"

namespace msc::fuzz {
namespace {

std::vector<Tensor> Inputs(const Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> inputs;
  Rng rng(seed);
  for (const ValueId input : graph.inputs()) {
    Tensor tensor(DType::kF32, *StaticDims(*graph.type(input).shape));
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Each layer in one of the precisions that it allows, and the scales that these inputs give.
Strategy DrawPrecisions(const Graph& canonical, std::span<const Tensor> inputs,
                        const Variant& variant) {
  Strategy strategy;
  strategy.target = variant.target;
  if (variant.precision_seed == 0) return strategy;
  Calibrator calibrator(canonical);
  const std::set<std::string> wanted(calibrator.tensors().begin(), calibrator.tensors().end());
  const auto observe = [&](ValueId value, const Tensor& tensor) {
    const std::string& name = canonical.value(value).name;
    if (wanted.contains(name)) calibrator.Observe(name, tensor.Values<float>());
  };
  (void)Interpret(canonical, inputs, observe);
  strategy.quantize.activations = calibrator.Scales({.method = "minmax"});
  Rng rng(variant.precision_seed);
  for (const QuantizableLayer& layer : FindQuantizableLayers(canonical)) {
    const Precision drawn = layer.allowed[rng.Below(layer.allowed.size())];
    strategy.quantize.layers[layer.name] = drawn;
  }
  return strategy;
}

std::optional<std::string> Check(const Graph& graph, const Variant& variant,
                                 const TargetRegistry& registry) {
  const std::vector<Tensor> inputs = Inputs(graph, 1);
  Graph canonical = graph;
  Canonicalize(canonical);
  const Agreement plain(canonical, inputs);
  if (const auto wrong = plain.Wrong(Interpret(graph, inputs))) return "canonical: " + *wrong;
  const Strategy strategy = DrawPrecisions(canonical, inputs, variant);
  const Agreement agreement =
      variant.precision_seed == 0 ? plain : Agreement(ApplyStrategy(canonical, strategy), inputs);
  Result<Executable> built =
      Compile(canonical, strategy, registry, {.threads = variant.threads, .bindings = {}});
  if (!built.ok()) return "does not build: " + built.failure().detail;
  const std::vector<Tensor> got = built.value().Run(inputs);
  if (const auto wrong = agreement.Wrong(got)) return wrong;
  if (built.value().Run(inputs) != got) return "gives other numbers when it runs again";
  return std::nullopt;
}

/// `graph` with these outputs and nothing that they do not need.
std::optional<Graph> WithOutputsOnly(Graph graph, std::vector<ValueId> outputs) {
  std::erase(outputs, kNoValue);
  if (outputs.empty()) return std::nullopt;
  graph.SetOutputs(std::move(outputs));
  RemoveDeadCode(graph);
  return graph;
}

/// `graph` where the outputs of `node` are inputs.
std::optional<Graph> WithoutProducer(Graph graph, NodeId node) {
  const std::vector<ValueId> outputs = graph.node(node).outputs;
  for (const ValueId output : outputs) {
    if (output == kNoValue) continue;
    if (graph.IsOutput(output) || graph.type(output).dtype != DType::kF32) return std::nullopt;
    const ValueId input = graph.AddInput(graph.FreeValueName("cut"), graph.type(output));
    graph.ReplaceUses(output, input);
  }
  RemoveDeadCode(graph);
  return graph;
}

}  // namespace

std::string ToString(const Variant& variant) {
  return variant.target +
         (variant.precision_seed == 0 ? ", f32"
                                      : ", precisions " + std::to_string(variant.precision_seed)) +
         ", " + std::to_string(variant.threads) + (variant.threads == 1 ? " thread" : " threads");
}

std::optional<std::string> Disagreement(const Graph& graph, const Variant& variant,
                                        const TargetRegistry& registry) {
  try {
    return Check(graph, variant, registry);
  } catch (const std::exception& error) {
    return "throws: " + std::string(error.what());
  }
}

Graph Shrunk(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  Graph smallest = graph;
  for (bool shrinks = true; shrinks;) {
    shrinks = false;
    std::vector<std::optional<Graph>> smaller;
    for (const ValueId output : smallest.outputs()) {
      smaller.push_back(WithOutputsOnly(smallest, {output}));
    }
    const std::vector<NodeId> order = smallest.order();
    for (const NodeId node : order) {
      smaller.push_back(WithOutputsOnly(smallest, smallest.node(node).outputs));
    }
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      smaller.push_back(WithoutProducer(smallest, *node));
    }
    for (std::optional<Graph>& candidate : smaller) {
      const bool less = candidate && (candidate->order().size() < smallest.order().size() ||
                                      candidate->outputs().size() < smallest.outputs().size());
      if (!less || !fails(*candidate)) continue;
      smallest = *std::move(candidate);
      shrinks = true;
      break;
    }
  }
  return smallest;
}

}  // namespace msc::fuzz
