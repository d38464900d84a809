#include <algorithm>
#include <string>
#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;
using dnnl::pooling_v2_forward;

struct Pool {
  algorithm kind = algorithm::pooling_max;
  Window window = {};
  FusedAttrs attrs = {};
  Dims x;
  Dims y;
  Elem from = Elem::f32;
  Elem to = Elem::f32;
};

Window GlobalWindow(const Dims& x) {
  const Dims spatial(x.begin() + 2, x.end());
  const Dims ones(spatial.size(), 1);
  const Dims zeros(spatial.size(), 0);
  return {.kernel = spatial,
          .strides = ones,
          .dilations = ones,
          .pads_begin = zeros,
          .pads_end = zeros,
          .group = 1};
}

// Extends the end padding for windows that ceil_mode lets end beyond the padding. Returns false if
// a window would lie in the padding alone.
bool CoverOutput(const Dims& x, const Dims& y, Window& window) {
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t last = (y[i + 2] - 1) * window.strides[i] - window.pads_begin[i];
    if (last >= x[i + 2] || window.pads_begin[i] >= reach) return false;
    window.pads_end[i] = std::max(window.pads_end[i], last + reach - x[i + 2]);
  }
  return true;
}

// Reads kind and window. Returns false for pools that the library does not have.
bool ReadWindowOf(const Node& node, const std::string& op, Pool& pool) {
  if (op == "GlobalAveragePool" || op == "GlobalMaxPool") {
    if (op == "GlobalAveragePool") pool.kind = algorithm::pooling_avg_exclude_padding;
    pool.window = GlobalWindow(pool.x);
    return true;
  }
  if (op != "AveragePool" && op != "MaxPool") return false;
  pool.window = ReadWindow(node, {pool.x.begin() + 2, pool.x.end()}, {});
  const Dims pads_end = pool.window.pads_end;
  if (!CoverOutput(pool.x, pool.y, pool.window)) return false;
  if (op == "MaxPool") return true;
  if (std::ranges::any_of(pool.window.dilations, [](auto step) { return step != 1; })) return false;
  if (AttrOr<std::int64_t>(node, "count_include_pad", 0) == 0) {
    pool.kind = algorithm::pooling_avg_exclude_padding;
    return true;
  }
  pool.kind = algorithm::pooling_avg_include_padding;
  // The library counts all padding as code 0. ONNX counts it as the real number 0, and does not
  // count padding that only ceil_mode adds.
  return pads_end == pool.window.pads_end && (!IsInt8(pool.from) || pool.attrs.x.zero_point == 0);
}

std::optional<Pool> ReadPool(const Lowering& lowering, NodeId id) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(id);
  const auto x = DenseDescOf(graph, node.inputs[0]);
  const auto y = DenseDescOf(graph, node.outputs[0]);
  if (!x || !y || graph.constant(node.inputs[0])) return std::nullopt;
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return std::nullopt;
  Pool pool{.kind = algorithm::pooling_max,
            .x = x->dims(),
            .y = y->dims(),
            .from = ElemOf(*x),
            .to = ElemOf(*y)};
  if (pool.x.size() < 3 || pool.x.size() > 5) return std::nullopt;
  const bool fused = node.domain == "msc";
  if (!fused && (pool.from != pool.to || (IsInt8(pool.from) && node.op != "MaxPool"))) {
    return std::nullopt;
  }
  if (fused) pool.attrs = ReadFusedAttrs(node);
  const std::string op = fused ? AttrOr(node, "op", std::string()) : node.op;
  if (!ReadWindowOf(node, op, pool)) return std::nullopt;
  return pool;
}

// Returns attributes that requantize from x to y with one linear function; nullopt if the types
// differ or an activation follows.
std::optional<dnnl::primitive_attr> AttrOf(const Pool& pool) {
  dnnl::primitive_attr attr = Lowering::NewAttr();
  if (!pool.attrs.activation.op.empty() || pool.from != pool.to) return std::nullopt;
  if (!IsInt8(pool.from) || pool.attrs.x == pool.attrs.y) return attr;
  const QuantParams& x = pool.attrs.x;
  const QuantParams& y = pool.attrs.y;
  // y = y_zero + (x - x_zero) * scale. This function is linear and, since scales are positive,
  // increasing, so means and maxima may be taken before it.
  const float scale = x.scale / y.scale;
  dnnl::post_ops post_ops;
  post_ops.append_eltwise(
      1.0F, algorithm::eltwise_linear, scale,
      static_cast<float>(y.zero_point) - scale * static_cast<float>(x.zero_point));
  attr.set_post_ops(post_ops);
  return attr;
}

std::optional<pooling_v2_forward::primitive_desc> MakePool(const Lowering& lowering,
                                                           const Pool& pool, const Desc& x,
                                                           const dnnl::primitive_attr& attr) {
  // The library counts skipped points.
  Dims dilations = pool.window.dilations;
  for (std::int64_t& dilation : dilations) --dilation;
  const std::vector<Desc> layouts = {x, ChannelsLastDesc(pool.x, ElemOf(x)),
                                     DenseDesc(pool.x, ElemOf(x))};
  return FirstFast(layouts, [&](const Desc& layout) {
    const pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, pool.kind, layout,
                                        AnyDesc(pool.y, ElemOf(layout)), pool.window.strides,
                                        pool.window.kernel, dilations, pool.window.pads_begin,
                                        pool.window.pads_end);
    return pooling_v2_forward::primitive_desc(desc, attr, lowering.engine());
  });
}

// Lowers a pool to three steps: conversion to f32, pool, conversion to the type of the output.
bool LowerPoolInF32(Lowering& lowering, NodeId id, const Pool& pool) {
  const Node& node = lowering.node(id);
  const ValueId y = node.outputs[0];
  const Desc here = lowering.Here(node.inputs[0]);
  const auto pd = MakePool(lowering, pool, WithElem(here, Elem::f32), Lowering::NewAttr());
  if (!pd || !pool.attrs.activation.op.empty()) return false;
  const QuantParams& q = pool.attrs.x;
  const BufferId source = lowering.In(node.inputs[0], here);
  const BufferId wide = lowering.Scratch(pd->src_desc());
  const BufferId result = lowering.Scratch(pd->dst_desc());
  const StepLabel widen{.name = "convert " + lowering.graph().value(node.inputs[0]).name};
  if (!lowering.AddReorder(
          {DNNL_ARG_FROM, here, source}, {DNNL_ARG_TO, pd->src_desc(), wide},
          IsInt8(pool.from) ? ScalingAttr(q.scale, q.zero_point, 0) : ScalingAttr(1.0F, 0, 0),
          widen)) {
    return false;
  }
  lowering.AddPrimitive<pooling_v2_forward>(
      *pd, {{DNNL_ARG_SRC, pd->src_desc(), wide}, {DNNL_ARG_DST, pd->dst_desc(), result}},
      lowering.LabelOf(id, Elem::f32));
  const Desc made = WithElem(pd->dst_desc(), pool.to);
  const QuantParams& r = pool.attrs.y;
  const StepLabel narrow{.name = "convert " + lowering.graph().value(y).name};
  const bool done = lowering.AddReorder(
      {DNNL_ARG_FROM, pd->dst_desc(), result}, {DNNL_ARG_TO, made, lowering.Out(y, made)},
      IsInt8(pool.to) ? ScalingAttr(1.0F / r.scale, 0, r.zero_point) : ScalingAttr(1.0F, 0, 0),
      narrow);
  if (done) lowering.Finish(y);
  return done;
}

}  // namespace

bool LowerPool(Lowering& lowering, NodeId id) {
  const auto pool = ReadPool(lowering, id);
  if (!pool) return false;
  const Node& node = lowering.node(id);
  const auto attr = AttrOf(*pool);
  const auto pd = attr ? MakePool(lowering, *pool, lowering.Here(node.inputs[0]), *attr)
                       : std::optional<pooling_v2_forward::primitive_desc>();
  // Other targets have a fast maximum over all pixels.
  if (pd && IsSlow(*pd) && node.op == "GlobalMaxPool") return false;
  // Bytes that the library pools slowly are pooled in f32, between two conversions.
  if (!pd || (IsSlow(*pd) && IsInt8(pool->from))) return LowerPoolInF32(lowering, id, *pool);
  const BufferId x = lowering.In(node.inputs[0], pd->src_desc());
  const BufferId y = lowering.Out(node.outputs[0], pd->dst_desc());
  lowering.AddPrimitive<pooling_v2_forward>(
      *pd, {{DNNL_ARG_SRC, pd->src_desc(), x}, {DNNL_ARG_DST, pd->dst_desc(), y}},
      lowering.LabelOf(id, pool->from));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::onednn
