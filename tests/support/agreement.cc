#include "tests/support/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "compiler/base/rng.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Moves every value up or down by a few last bits.
std::vector<Tensor> Nudged(std::vector<Tensor> inputs) {
  Rng rng(7);
  for (Tensor& tensor : inputs) {
    if (tensor.dtype() != DType::kF32) continue;
    for (float& x : tensor.MutableValues<float>()) x *= rng.Below(2) == 0 ? 1 + 1e-6F : 1 - 1e-6F;
  }
  return inputs;
}

struct Difference {
  double largest = 0;
  double mean = 0;
};

/// Returns infinite or NaN differences where only one of the values is NaN.
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

/// Returns a tensor of `low` and `high`, chosen at random.
Tensor Either(const Dims& dims, float low, float high, Rng& rng) {
  Tensor tensor(DType::kF32, dims);
  for (float& x : tensor.MutableValues<float>()) x = rng.Below(2) == 0 ? low : high;
  return tensor;
}

bool IsWidened(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || graph.constant(node.inputs[0])) return false;
  return node.Is("DequantizeLinear") ||
         (node.Is("Cast") && graph.type(node.inputs[0]).dtype == DType::kBF16);
}

/// Returns `graph` with every value that is stored in 8 bits or as bf16 moved up or down by one
/// step.
Graph Shaken(Graph graph, std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<NodeId> order = graph.order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = graph.node(order[i]);
    if (!IsWidened(graph, node)) continue;
    const bool integer = node.Is("DequantizeLinear");
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

}  // namespace

Agreement::Agreement(const Graph& graph, const std::vector<Tensor>& inputs)
    : wanted_(Interpret(graph, inputs)), nudged_(Interpret(graph, Nudged(inputs))) {
  const bool narrow = std::ranges::any_of(
      graph.order(), [&](NodeId id) { return IsWidened(graph, graph.node(id)); });
  if (!narrow) return;
  for (const std::uint64_t seed : {1, 2, 3}) {
    shaken_.push_back(Interpret(Shaken(graph, seed), inputs));
  }
}

// Sums in another order differ in the last bits, so values on an edge of the 8-bit grid may round
// to the other side: a whole step, in some places. The effect on an output depends on all that
// follows, so it is measured: `shaken_` moves every stored value by a step in a random direction.
// There, every step takes part; in a correct target only those on an edge do, one in hundreds. The
// sum of k steps in any directions is at most sqrt(k) times the root of the sum of their squares.
// The random directions estimate that root over all steps, and the largest of many outputs is about
// three times the root. So the largest move allows for about ten steps that point the same way; in
// 2,000 outputs the largest difference observed was a twentieth of that move. A wrong border,
// channel or zero point is far beyond this tolerance, because it is as large as the values.
std::optional<std::string> Agreement::Wrong(const std::vector<Tensor>& got) const {
  if (got.size() != wanted_.size()) return "gives another number of outputs";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string output = "output " + std::to_string(i);
    const Tensor& wanted = wanted_[i];
    if (got[i].dtype() != wanted.dtype()) return output + " has another type";
    if (got[i].dims() != wanted.dims()) return output + " has other dims";
    if (wanted.dtype() != DType::kF32) continue;
    const double range = Range(wanted);
    const Difference nudge = Compare(nudged_[i], wanted);
    double shake = 0;
    for (const std::vector<Tensor>& outputs : shaken_) {
      shake = std::max(shake, Compare(outputs[i], wanted).largest);
    }
    const Difference allowed{.largest = 1e-4 * range + 30 * nudge.largest + shake,
                             .mean = 0.03 * range + 4 * nudge.mean};
    const Difference off = Compare(got[i], wanted);
    const auto wrong = [&](const std::string& what, double by, double most) {
      return output + " is off by " + std::to_string(by) + what + ", allowed are " +
             std::to_string(most) + " of a range of " + std::to_string(range);
    };
    if (!(off.largest <= allowed.largest)) return wrong("", off.largest, allowed.largest);
    if (!(off.mean <= allowed.mean)) return wrong(" on average", off.mean, allowed.mean);
  }
  return std::nullopt;
}

}  // namespace msc
