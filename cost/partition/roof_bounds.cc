#include "cost/partition/roof_bounds.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/narrowing.h"

namespace msc::cost {
namespace {

/// The clock may be higher than when the peak was measured.
constexpr double kMargin = 1.1;
constexpr double kWinogradSaving = 4;

bool MayBeWinograd(const Graph& graph, const Node& node) {
  if (!node.Is("Conv") || AttrOr(node, "group", std::int64_t{1}) != 1) return false;
  const auto& shape = graph.type(node.inputs[1]).shape;
  const auto strides = AttrOr(node, "strides", std::vector<std::int64_t>());
  return shape && shape->size() == 4 && (*shape)[2] == Dim(3) && (*shape)[3] == Dim(3) &&
         std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 1; });
}

/// The part of a convolution's taps that lie in the image: kernels need not multiply the others.
double PartInside(const Graph& graph, const Node& node) {
  const auto in = StaticDims(graph.type(node.inputs[0]).shape.value());
  const auto kernel = StaticDims(graph.type(node.inputs[1]).shape.value());
  const auto out = StaticDims(graph.type(node.outputs[0]).shape.value());
  if (!in || !kernel || !out) return 0;
  const std::size_t axes = in->size() - 2;
  const auto strides = AttrOr(node, "strides", std::vector<std::int64_t>(axes, 1));
  const auto dilations = AttrOr(node, "dilations", std::vector<std::int64_t>(axes, 1));
  const auto pads = AttrOr(node, "pads", std::vector<std::int64_t>(2 * axes, 0));
  if (AttrOr(node, "auto_pad", std::string("NOTSET")) != "NOTSET") return 0;
  double part = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t taps = (*kernel)[axis + 2];
    const std::int64_t places = (*out)[axis + 2];
    std::int64_t inside = 0;
    for (std::int64_t place = 0; place < places; ++place) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t at = place * strides.at(axis) + tap * dilations.at(axis) - pads.at(axis);
        inside += at >= 0 && at < (*in)[axis + 2] ? 1 : 0;
      }
    }
    part *=
        static_cast<double>(inside) / static_cast<double>(std::max<std::int64_t>(places * taps, 1));
  }
  return part;
}

/// The peak for what the node reads: of several, the one that is highest.
double PeakFor(const Graph& graph, const Node& node, const Roof& roof) {
  double peak = roof.f32.per_second;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) continue;
    if (const auto narrow = NarrowSource(graph, input)) {
      peak = std::max(peak, (narrow->form.IsBF16() ? roof.bf16 : roof.int8).per_second);
    }
  }
  return peak;
}

/// Seconds on one thread, at least.
double LeastSeconds(const Graph& graph, NodeId id, const Roof& roof) {
  const Node& node = graph.node(id);
  if (!node.Is("Conv") && !node.Is("MatMul") && !node.Is("Gemm")) return 0;
  double flops = CostOf(graph, id).flops;
  if (node.Is("Conv")) flops *= PartInside(graph, node);
  if (MayBeWinograd(graph, node)) flops /= kWinogradSaving;
  return flops / (kMargin * PeakFor(graph, node, roof));
}

}  // namespace

void BoundByRoof(const RegionSource& source, const TargetRegistry& targets, const Roof& roof,
                 int threads, CoverProblem& problem) {
  std::map<const RegionSource*, std::vector<double>> seconds;  // by precision
  const auto seconds_of = [&](const RegionSource& own) -> const std::vector<double>& {
    const auto [it, is_new] = seconds.try_emplace(&own);
    if (!is_new) return it->second;
    for (const FlowNode& flow : problem.flow.nodes()) {
      const NodeId id = own.graph().FindNode(flow.name);
      it->second.push_back(id == kNoNode ? 0 : LeastSeconds(own.graph(), id, roof));
    }
    return it->second;
  };
  constexpr double kMicros = 1e6;
  for (Candidate& candidate : problem.candidates) {
    if (!candidate.cost.unknown()) continue;
    const std::vector<double>& least = seconds_of(source.For(candidate.target));
    double sum = 0;
    candidate.nodes.ForEach([&](std::size_t node) { sum += least[node]; });
    const int uses = targets.Get(candidate.target).OptionsFor({.threads = threads}).threads;
    const double micros = std::min(kMicros * sum / uses, Cost::kMaxMicros);
    candidate.cost = Cost::Unknown(std::max(micros, candidate.cost.at_least()));
  }
}

}  // namespace msc::cost
