#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;

std::optional<algorithm> AlgorithmOf(std::string_view op) {
  static const std::map<std::string_view, algorithm> algorithms = {
      {"ReduceMax", algorithm::reduction_max},
      {"ReduceMean", algorithm::reduction_mean},
      {"ReduceMin", algorithm::reduction_min},
      {"ReduceProd", algorithm::reduction_mul},
      {"ReduceSum", algorithm::reduction_sum}};
  const auto it = algorithms.find(op);
  if (it == algorithms.end()) return std::nullopt;
  return it->second;
}

// Returns the axes to reduce in ascending order; nullopt if they are unknown or there are none.
std::optional<std::vector<std::size_t>> AxesOf(const Graph& graph, const Node& node,
                                               std::size_t rank) {
  std::vector<std::int64_t> given = AttrOr(node, "axes", std::vector<std::int64_t>());
  if (node.HasInput(1)) {
    const auto read = ConstantInts(graph, node.inputs[1]);
    if (!read) return std::nullopt;
    given = *read;
  }
  if (given.empty()) {
    if (AttrOr<std::int64_t>(node, "noop_with_empty_axes", 0) != 0) return std::nullopt;
    given.resize(rank);
    std::iota(given.begin(), given.end(), std::int64_t{0});
  }
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : given) {
    const std::int64_t from_front = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (from_front < 0 || from_front >= static_cast<std::int64_t>(rank)) return std::nullopt;
    axes.push_back(static_cast<std::size_t>(from_front));
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool AreSpatial(const std::vector<std::size_t>& axes, std::size_t rank) {
  return rank >= 3 && rank <= 5 && axes.size() == rank - 2 && axes.front() == 2;
}

// Lowers a mean over all spatial axes to a pool, which is fast in every layout. Returns false if
// the library has no fast pool for it.
bool LowerSpatialMean(Lowering& lowering, NodeId id, const Desc& x, const Dims& kept) {
  using dnnl::pooling_forward;
  const Node& node = lowering.node(id);
  const Dims dims = x.dims();
  const Dims kernel(dims.begin() + 2, dims.end());
  const Dims ones(kernel.size(), 1);
  const Dims zeros(kernel.size(), 0);
  const std::vector<Desc> layouts = {lowering.Here(node.inputs[0]), x};
  const auto pd = FirstFast(layouts, [&](const Desc& layout) {
    const pooling_forward::desc desc(dnnl::prop_kind::forward_inference,
                                     algorithm::pooling_avg_exclude_padding, layout,
                                     DenseDesc(kept, ElemOf(x)), ones, kernel, zeros, zeros);
    return pooling_forward::primitive_desc(desc, Lowering::NewAttr(), lowering.engine());
  });
  if (!pd || IsSlow(*pd)) return false;
  const ValueId y = node.outputs[0];
  const BufferId from = lowering.In(node.inputs[0], pd->src_desc());
  const BufferId to = lowering.Out(y, lowering.AsValue(y, pd->dst_desc()));
  lowering.AddPrimitive<pooling_forward>(
      *pd, {{DNNL_ARG_SRC, pd->src_desc(), from}, {DNNL_ARG_DST, pd->dst_desc(), to}},
      lowering.LabelOf(id, ElemOf(x)));
  lowering.Finish(y);
  return true;
}

}  // namespace

bool LowerReduce(Lowering& lowering, NodeId id) {
  using dnnl::reduction;
  // From here on the library's slow implementation, 20 ns an element, takes longer than it takes to
  // hand the values to another target.
  constexpr std::int64_t kLarge = 1 << 12;
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const ValueId x = node.inputs[0];
  const ValueId y = node.outputs[0];
  const auto kind = AlgorithmOf(node.op);
  const auto dense = DenseDescOf(graph, x);
  if (!kind || !dense || !DenseDescOf(graph, y) || graph.constant(x)) return false;
  if (IsInt8(ElemOf(*dense))) return false;
  const Dims dims = DimsOf(graph, x);
  const auto axes = AxesOf(graph, node, dims.size());
  if (!axes || dims.empty()) return false;
  const std::int64_t x_size = ElementCount(dims);
  Dims kept = dims;
  for (const std::size_t axis : *axes) kept[axis] = 1;
  // Axes of one entry leave nothing to reduce.
  if (kept == dims) return false;
  if (*kind == algorithm::reduction_mean && AreSpatial(*axes, dims.size()) &&
      LowerSpatialMean(lowering, id, *dense, kept)) {
    return true;
  }
  const std::vector<Desc> layouts = {lowering.Here(x), InnermostDesc(dims, *axes, ElemOf(*dense)),
                                     *dense};
  const auto pd = FirstFast(layouts, [&](const Desc& layout) {
    return reduction::primitive_desc({*kind, layout, DenseDesc(kept, ElemOf(layout)), 0.0F, 0.0F},
                                     Lowering::NewAttr(), lowering.engine());
  });
  if (!pd || (IsSlow(*pd) && x_size >= kLarge)) return false;
  const BufferId from = lowering.In(x, pd->src_desc());
  const BufferId to = lowering.Out(y, lowering.AsValue(y, pd->dst_desc()));
  lowering.AddPrimitive<reduction>(
      *pd, {{DNNL_ARG_SRC, pd->src_desc(), from}, {DNNL_ARG_DST, pd->dst_desc(), to}},
      lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(y);
  return true;
}

}  // namespace msc::onednn
