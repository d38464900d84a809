#include "tests/fuzz/differential.h"

#include <algorithm>
#include <cmath>
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

/// Every value moved up or down by some last bits.
std::vector<Tensor> Nudged(std::vector<Tensor> inputs) {
  Rng rng(7);
  for (Tensor& tensor : inputs) {
    for (float& x : tensor.MutableValues<float>()) x *= rng.Below(2) == 0 ? 1 + 1e-6F : 1 - 1e-6F;
  }
  return inputs;
}

struct Difference {
  double largest = 0;
  double mean = 0;
};

/// Infinite where one is NaN and the other is not.
Difference Compare(const Tensor& a, const Tensor& b) {
  Difference difference;
  const auto x = a.Values<float>();
  const auto y = b.Values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::isnan(x[i]) && std::isnan(y[i])
                             ? 0
                             : std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    difference.largest = apart <= difference.largest ? difference.largest : apart;
    difference.mean += apart / static_cast<double>(x.size());
  }
  return difference;
}

double Range(const Tensor& tensor) {
  double range = 1e-3;
  for (const float x : tensor.Values<float>()) {
    if (std::isfinite(x)) range = std::max(range, std::abs(static_cast<double>(x)));
  }
  return range;
}

/// What the outputs become where the inputs are a little different, and where every value that is
/// stored in fewer bits is one step higher or lower.
struct Moves {
  std::vector<Tensor> nudged;
  std::vector<std::vector<Tensor>> shaken;  ///< a few times; never where all is f32
};

/// What an output may be off at one place, and on average.
///
/// Sums in another order differ in the last bits, so that values on an edge of the 8-bit grid round
/// to the other side: a whole step, at some places. What that does to an output depends on all that
/// follows, so it is measured: `shaken` moves every stored value by a step, in directions drawn by
/// lot. There every step takes part; in a correct target only those on an edge, one in hundreds.
/// A sum of k steps in whatever directions is at most sqrt(k) times the root of the sum of their
/// squares, and the lots give that root over all of them, about three times over at the largest of
/// many outputs: the largest move is enough for about ten steps that conspire (a twentieth of it
/// was the most seen in 2,000 outputs). A wrong border, channel or zero point is far beyond: it is
/// as large as the values.
Difference Allowed(const Moves& moves, const Tensor& wanted, std::size_t output) {
  const double range = Range(wanted);
  const Difference nudge = Compare(moves.nudged[output], wanted);
  Difference allowed{.largest = 1e-4 * range + 30 * nudge.largest,
                     .mean = 0.03 * range + 4 * nudge.mean};
  double shake = 0;
  for (const std::vector<Tensor>& outputs : moves.shaken) {
    shake = std::max(shake, Compare(outputs[output], wanted).largest);
  }
  allowed.largest += shake;
  return allowed;
}

std::optional<std::string> CompareAll(const std::vector<Tensor>& got,
                                      const std::vector<Tensor>& wanted, const Moves& moves) {
  if (got.size() != wanted.size()) return "gives another number of outputs";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string output = "output " + std::to_string(i);
    if (got[i].dtype() != wanted[i].dtype()) return output + " has another type";
    if (got[i].dims() != wanted[i].dims()) return output + " has other dims";
    if (got[i].dtype() != DType::kF32) continue;
    const Difference off = Compare(got[i], wanted[i]);
    const Difference allowed = Allowed(moves, wanted[i], i);
    const auto wrong = [&](const std::string& what, double by, double most) {
      return output + " is off by " + std::to_string(by) + what + ", allowed are " +
             std::to_string(most) + " of a range of " + std::to_string(Range(wanted[i]));
    };
    if (!(off.largest <= allowed.largest)) return wrong("", off.largest, allowed.largest);
    if (!(off.mean <= allowed.mean)) return wrong(" on average", off.mean, allowed.mean);
  }
  return std::nullopt;
}

/// A tensor of `low` and `high`, drawn by lot.
Tensor Either(const Dims& dims, float low, float high, Rng& rng) {
  Tensor tensor(DType::kF32, dims);
  for (float& x : tensor.MutableValues<float>()) x = rng.Below(2) == 0 ? low : high;
  return tensor;
}

/// `graph` where what is stored in 8 bits, or as bf16, comes back one step higher or lower.
Graph Shaken(Graph graph, std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<NodeId> order = graph.order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = graph.node(order[i]);
    const bool integer = node.Is("DequantizeLinear");
    if (graph.constant(node.inputs[0]) ||
        (!integer && !(node.Is("Cast") && graph.type(node.inputs[0]).dtype == DType::kBF16))) {
      continue;
    }
    const ValueId wide = node.outputs[0];
    const Dims dims = *StaticDims(*graph.type(wide).shape);
    const float step = integer ? graph.constant(node.inputs[1])->Values<float>()[0] : 1 / 128.0F;
    const ValueId by = graph.AddConstant(
        graph.FreeValueName("steps"),
        integer ? Either(dims, -step, step, rng) : Either(dims, 1 - step, 1 + step, rng));
    const std::vector<Use> readers = graph.uses(wide);
    Node move;
    move.name = graph.FreeNodeName("shake");
    move.op = integer ? "Add" : "Mul";
    move.inputs = {wide, by};
    move.outputs = {graph.AddValue(graph.FreeValueName("shaken"), graph.type(wide))};
    const ValueId moved = move.outputs[0];
    graph.AddNode(std::move(move), i + 1 < order.size() ? order[i + 1] : kNoNode);
    for (const Use& use : readers) graph.SetInput(use.node, use.index, moved);
    std::vector<ValueId> outputs = graph.outputs();
    std::ranges::replace(outputs, wide, moved);
    graph.SetOutputs(std::move(outputs));
  }
  return graph;
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
    strategy.quantize.layers[layer.name] = std::string(Name(drawn));
  }
  return strategy;
}

std::optional<std::string> Check(const Graph& graph, const Variant& variant,
                                 const TargetRegistry& registry) {
  const std::vector<Tensor> inputs = Inputs(graph, 1);
  const std::vector<Tensor> nudged = Nudged(inputs);
  Graph canonical = graph;
  Canonicalize(canonical);
  std::vector<Tensor> wanted = Interpret(canonical, inputs);
  Moves moves{.nudged = Interpret(canonical, nudged), .shaken = {}};
  if (const auto wrong = CompareAll(Interpret(graph, inputs), wanted, moves)) {
    return "canonical: " + *wrong;
  }
  const Strategy strategy = DrawPrecisions(canonical, inputs, variant);
  if (variant.precision_seed != 0) {
    const Graph applied = ApplyStrategy(canonical, strategy);
    wanted = Interpret(applied, inputs);
    moves.nudged = Interpret(applied, nudged);
    for (const std::uint64_t seed : {1, 2, 3}) {
      moves.shaken.push_back(Interpret(Shaken(applied, seed), inputs));
    }
  }
  Result<Executable> built =
      Compile(canonical, strategy, registry, {.threads = variant.threads, .bindings = {}});
  if (!built.ok()) return "does not build: " + built.failure().detail;
  const std::vector<Tensor> got = built.value().Run(inputs);
  if (const auto wrong = CompareAll(got, wanted, moves)) return wrong;
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
