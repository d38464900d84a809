#include <algorithm>
#include <limits>
#include <vector>

#include "compiler/passes/narrowing.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// Returns whether round((q - z) * s / s) + z equals q. It does if neither operation leaves the
// normal floats: the relative error of two roundings, below 2^-22, times at most 255 is far below
// half a step.
bool IsExact(const Narrowing& form) {
  if (form.IsBF16()) return true;
  if (form.dtype != DType::kI8 && form.dtype != DType::kU8) return false;
  return std::all_of(form.scales.begin(), form.scales.end(), [](float scale) {
    return scale >= std::numeric_limits<float>::min() &&
           scale <= std::numeric_limits<float>::max() / 512.0F;
  });
}

}  // namespace

bool CancelRequantization(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const auto narrowing = ReadNarrowing(graph, id);
    if (!narrowing || !IsExact(*narrowing)) continue;
    const auto source = NarrowSource(graph, graph.node(id).inputs.front());
    if (!source || !(source->form == *narrowing)) continue;
    changed |= Bypass(graph, id, source->value);
  }
  return changed;
}

}  // namespace msc
