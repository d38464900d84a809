#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

/// Returns the pads of the axes from the third on, first those before and then those behind, if
/// `node` is a Pad that only adds zeros there.
std::optional<Ints> ReadZeroPads(const Graph& graph, const Node& node) {
  if (!node.Is("Pad") || AttrOr<std::string>(node, "mode", "constant") != "constant") {
    return std::nullopt;
  }
  const TensorPtr pads = graph.constant(node.inputs[1]);
  if (!pads || pads->dtype() != DType::kI64 || pads->size() < 6) return std::nullopt;
  if (node.HasInput(2)) {
    const TensorPtr value = graph.constant(node.inputs[2]);
    if (!value || value->dtype() != DType::kF32 || value->Values<float>()[0] != 0) {
      return std::nullopt;
    }
  }
  const auto all = pads->Values<std::int64_t>();
  const std::size_t rank = all.size() / 2;
  Ints spatial;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_spatial = i % rank >= 2;
    if (all[i] < 0 || (!is_spatial && all[i] != 0)) return std::nullopt;
    if (is_spatial) spatial.push_back(all[i]);
  }
  return spatial;
}

/// Returns whether each window of the Conv with these pads reads something else than zeros, which
/// libraries may expect.
bool FitKernel(const Graph& graph, const Node& conv, const Ints& pads) {
  const auto& shape = graph.type(conv.inputs[1]).shape;
  const auto weights = shape ? StaticDims(*shape) : std::nullopt;
  const std::size_t axes = pads.size() / 2;
  if (!weights || weights->size() != axes + 2) return false;
  const Ints dilations = AttrOr<Ints>(conv, "dilations", Ints(axes, 1));
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] > ((*weights)[2 + i % axes] - 1) * dilations.at(i % axes)) return false;
  }
  return true;
}

bool FoldInto(Graph& graph, NodeId id) {
  const Node& conv = graph.node(id);
  if (!conv.Is("Conv") || AttrOr<std::string>(conv, "auto_pad", "NOTSET") != "NOTSET") return false;
  const NodeId above = graph.producer(conv.inputs[0]);
  if (above == kNoNode) return false;
  const auto added = ReadZeroPads(graph, graph.node(above));
  if (!added) return false;
  Ints pads = AttrOr<Ints>(conv, "pads", Ints(added->size(), 0));
  if (pads.size() != added->size()) return false;
  for (std::size_t i = 0; i < pads.size(); ++i) pads[i] += (*added)[i];
  if (!FitKernel(graph, conv, pads)) return false;
  const ValueId x = graph.node(above).inputs[0];
  graph.SetAttr(id, "pads", pads);
  graph.SetInput(id, 0, x);
  return true;
}

}  // namespace

bool FoldPadding(Graph& graph) {
  const bool changed = Sweep(graph, [&](NodeId id) { return FoldInto(graph, id); });
  if (changed) RemoveDeadCode(graph);
  return changed;
}

}  // namespace msc
