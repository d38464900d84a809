#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "compiler/targets/onednn/fused.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::inner_product_forward;
using dnnl::matmul;

// Returns whether the library's inner product can compute a Gemm: alpha = beta = 1, X not
// transposed, bias one per column.
bool IsInnerProduct(const Graph& graph, const Node& node, std::int64_t columns) {
  if (node.domain == "msc") return true;
  if (AttrOr(node, "alpha", 1.0F) != 1.0F || AttrOr(node, "beta", 1.0F) != 1.0F) return false;
  if (AttrOr<std::int64_t>(node, "transA", 0) != 0) return false;
  if (node.inputs.size() <= kFusedBias || node.inputs[kFusedBias] == kNoValue) return true;
  const Dims bias = DimsOf(graph, node.inputs[kFusedBias]);
  return !bias.empty() && bias.back() == columns && ElementCount(bias) == columns;
}

/// Moves the zero point of the input into the bias: it adds the same to all rows. The library's
/// inner product takes no zero points. `weights` are [M, K].
void FoldZeroPoint(const Tensor& weights, Epilogue& epilogue) {
  const std::span<const std::int8_t> values = weights.Values<std::int8_t>();
  const auto rows = static_cast<std::size_t>(weights.dims()[0]);
  const std::size_t depth = values.size() / rows;
  epilogue.bias.resize(rows, 0.0F);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * depth);
    const std::int64_t sum =
        std::accumulate(first, first + static_cast<std::ptrdiff_t>(depth), std::int64_t{0});
    const double step =
        static_cast<double>(epilogue.attrs.x.scale) *
        static_cast<double>(epilogue.w_scale[epilogue.w_scale.size() == 1 ? 0 : row]);
    epilogue.bias[row] =
        static_cast<float>(static_cast<double>(epilogue.bias[row]) -
                           step * static_cast<double>(epilogue.attrs.x.zero_point * sum));
  }
  epilogue.attrs.x.zero_point = 0;
}

std::optional<FusedNode> ReadGemm(const Lowering& lowering, NodeId id) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(id);
  auto epilogue = ReadEpilogue(lowering, id);
  const auto w = DenseDescOf(graph, node.inputs[kFusedW]);
  if (!epilogue || !w) return std::nullopt;
  Dims x_dims = DimsOf(graph, node.inputs[kFusedX]);
  Dims y_dims = DimsOf(graph, node.outputs[0]);
  const std::size_t rank = x_dims.size();
  if (w->dims().size() != 2 || rank < 2 || y_dims.size() != rank) return std::nullopt;
  if (node.domain != "msc" && rank != 2) return std::nullopt;
  const Elem wanted = IsInt8(epilogue->x) ? Elem::s8 : epilogue->x;
  const TensorPtr weights = graph.constant(node.inputs[kFusedW]);
  if (IsInt8(epilogue->x) && epilogue->attrs.x.zero_point != 0 && weights != nullptr &&
      ElemOf(*w) == Elem::s8) {
    FoldZeroPoint(*weights, *epilogue);
  }
  // All leading axes enumerate rows.
  x_dims = {ElementCount(x_dims) / x_dims.back(), x_dims.back()};
  y_dims = {x_dims[0], y_dims.back()};
  const Desc y = DenseDesc(y_dims, epilogue->y);
  if (ElemOf(*w) != wanted || !IsInnerProduct(graph, node, y.dims()[1])) return std::nullopt;
  Desc source = *w;  // [M, K]
  if (node.domain != "msc" && AttrOr<std::int64_t>(node, "transB", 0) == 0) {
    const Dims dims = w->dims();  // [K, M]
    // Exchanged strides read [K, M] as [M, K] without a copy.
    source = Desc({dims[1], dims[0]}, wanted, Dims{1, dims[1]});
    if (!graph.constant(node.inputs[kFusedW])) return std::nullopt;
  }
  return FusedNode{.id = id,
                   .epilogue = *epilogue,
                   .x = DenseDesc(x_dims, epilogue->x),
                   .w_source = source,
                   .y = y,
                   .output = node.outputs[0]};
}

// [..., M, K] x [..., K, N]. With weights of rank 2, all rows of X form one matrix.
struct MatMul {
  Desc x;
  Desc w;
  Desc y;
};

std::optional<MatMul> ReadMatMul(const Lowering& lowering, const Node& node) {
  const auto x = DenseDescOf(lowering.graph(), node.inputs[0]);
  const auto w = DenseDescOf(lowering.graph(), node.inputs[1]);
  const auto y = DenseDescOf(lowering.graph(), node.outputs[0]);
  if (!x || !w || !y || IsInt8(ElemOf(*x))) return std::nullopt;
  const Dims x_dims = x->dims();
  const Dims w_dims = w->dims();
  if (x_dims.size() < 2 || w_dims.size() < 2) return std::nullopt;
  if (w_dims.size() > 2) {
    if (w_dims.size() != x_dims.size()) return std::nullopt;
    return MatMul{*x, *w, *y};
  }
  const std::int64_t depth = w_dims[0];
  const std::int64_t rows = ElementCount(x_dims) / depth;
  return MatMul{DenseDesc({rows, depth}, ElemOf(*x)), *w, DenseDesc({rows, w_dims[1]}, ElemOf(*y))};
}

}  // namespace

bool LowerGemm(Lowering& lowering, NodeId id) {
  const auto fused = ReadGemm(lowering, id);
  if (!fused) return false;
  const bool has_bias = !fused->epilogue.bias.empty();
  const Desc bias = has_bias ? DenseDesc({fused->y.dims()[1]}, Elem::f32) : Desc();
  const auto make_pd = [&](Elem dst, const dnnl::primitive_attr& attr) {
    const inner_product_forward::desc desc(dnnl::prop_kind::forward_inference, fused->x,
                                           AnyDesc(fused->w_source.dims(), ElemOf(fused->w_source)),
                                           bias, WithElem(fused->y, dst));
    return inner_product_forward::primitive_desc(desc, attr, lowering.engine());
  };
  const auto plan = PlanFused<inner_product_forward>(*fused, make_pd);
  return plan && LowerFused(lowering, *fused, *plan);
}

bool LowerMatMul(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto product = ReadMatMul(lowering, node);
  if (!product) return false;
  const bool packs = lowering.graph().constant(node.inputs[1]) != nullptr;
  const auto pd = TryMake([&] {
    const Desc w = packs ? AnyDesc(product->w.dims(), ElemOf(product->w)) : product->w;
    return matmul::primitive_desc(matmul::desc(product->x, w, product->y), Lowering::NewAttr(),
                                  lowering.engine());
  });
  if (!pd) return false;
  // Dense values, because the product may have another rank than they have.
  const Desc dense = *DenseDescOf(lowering.graph(), node.inputs[0]);
  const BufferId x = lowering.In(node.inputs[0], dense);
  const BufferId w = lowering.Weights(node.inputs[1], product->w, pd->weights_desc());
  const BufferId y = lowering.Out(node.outputs[0], *DenseDescOf(lowering.graph(), node.outputs[0]));
  lowering.AddPrimitive<matmul>(*pd,
                                {{DNNL_ARG_SRC, product->x, x},
                                 {DNNL_ARG_WEIGHTS, pd->weights_desc(), w},
                                 {DNNL_ARG_DST, product->y, y}},
                                lowering.LabelOf(id, ElemOf(product->x)));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::onednn
