#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/targets/onednn/fused.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::convolution_forward;

struct Conv {
  FusedNode fused;
  Window window;
};

// Returns weight dims [M, C/group, kernel...] as the library expects them: [group, M/group,
// C/group, kernel...].
Dims GroupedDims(const Dims& dims, std::int64_t group) {
  if (group == 1) return dims;
  Dims grouped = {group, dims[0] / group};
  grouped.insert(grouped.end(), dims.begin() + 1, dims.end());
  return grouped;
}

std::optional<Conv> ReadConv(const Lowering& lowering, NodeId id) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(id);
  const auto epilogue = ReadEpilogue(lowering, id);
  const auto w = DenseDescOf(graph, node.inputs[kFusedW]);
  if (!epilogue || !w) return std::nullopt;
  const Dims x_dims = DimsOf(graph, node.inputs[kFusedX]);
  const Dims w_dims = w->dims();
  if (x_dims.size() < 3 || x_dims.size() > 5 || w_dims.size() != x_dims.size()) return std::nullopt;
  const Elem wanted = IsInt8(epilogue->x) ? Elem::s8 : epilogue->x;
  if (ElemOf(*w) != wanted) return std::nullopt;

  Conv conv{.fused = {.id = id,
                      .epilogue = *epilogue,
                      .x = DenseDesc(x_dims, epilogue->x),
                      .w_source = Desc(),
                      .y = *DenseDescOf(graph, node.outputs[0]),
                      .output = node.outputs[0]},
            .window = ReadWindow(node, {x_dims.begin() + 2, x_dims.end()},
                                 {w_dims.begin() + 2, w_dims.end()})};
  conv.fused.w_source = DenseDesc(GroupedDims(w_dims, conv.window.group), wanted);
  const auto negative = [](std::int64_t pad) { return pad < 0; };
  const Window& window = conv.window;
  if (std::any_of(window.pads_begin.begin(), window.pads_begin.end(), negative) ||
      std::any_of(window.pads_end.begin(), window.pads_end.end(), negative)) {
    return std::nullopt;
  }
  return conv;
}

// Returns whether Winograd's algorithm (Lavin and Gray 2016, "Fast algorithms for convolutional
// neural networks") should be faster. For 3x3 kernels it needs at least 2.25 times fewer
// multiplications. Measured: faster from about 16 channels on, except on tiny images.
bool WinogradPays(const Conv& conv) {
  constexpr std::int64_t kLeastChannels = 16;
  constexpr std::int64_t kLeastPixels = 49;
  constexpr std::int64_t kManyChannels = 32;
  constexpr std::int64_t kManyPixels = 100;
  const FusedNode& fused = conv.fused;
  const Dims y = fused.y.dims();
  const Window& window = conv.window;
  const auto all = [](const std::vector<std::int64_t>& list, std::int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t x) { return x == value; });
  };
  if (y.size() != 4 || fused.epilogue.x != Elem::f32 || fused.epilogue.y != Elem::f32 ||
      window.group != 1 || !all(window.kernel, 3) || !all(window.strides, 1) ||
      !all(window.dilations, 1)) {
    return false;
  }
  const std::int64_t channels = std::min(fused.x.dims()[1], y[1]);
  const std::int64_t pixels = y[2] * y[3];
  return channels >= kLeastChannels && pixels >= kLeastPixels &&
         (channels >= kManyChannels || pixels >= kManyPixels);
}

std::optional<FusedPlan<convolution_forward>> PlanConv(const Lowering& lowering, const Conv& conv) {
  const FusedNode& fused = conv.fused;
  const Window& window = conv.window;
  Dims dilations = window.dilations;  // the library counts skipped points
  for (std::int64_t& dilation : dilations) --dilation;
  const bool has_bias = !fused.epilogue.bias.empty();
  const Desc bias = has_bias ? DenseDesc({fused.y.dims()[1]}, Elem::f32) : Desc();
  const auto make_pd = [&](dnnl::algorithm algorithm, Elem dst, const dnnl::primitive_attr& attr) {
    const convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, algorithm, AnyDesc(fused.x.dims(), ElemOf(fused.x)),
        AnyDesc(fused.w_source.dims(), ElemOf(fused.w_source)), bias, AnyDesc(fused.y.dims(), dst),
        window.strides, dilations, window.pads_begin, window.pads_end);
    return convolution_forward::primitive_desc(desc, attr, lowering.engine());
  };
  const auto plan_with = [&](dnnl::algorithm algorithm) {
    return PlanFused<convolution_forward>(fused, [&](Elem dst, const dnnl::primitive_attr& attr) {
      return make_pd(algorithm, dst, attr);
    });
  };
  if (WinogradPays(conv)) {
    auto plan = plan_with(dnnl::algorithm::convolution_winograd);
    if (plan && !IsSlow(plan->pd)) return plan;
  }
  return plan_with(dnnl::algorithm::convolution_direct);
}

}  // namespace

bool LowerConv(Lowering& lowering, NodeId id) {
  const auto conv = ReadConv(lowering, id);
  if (!conv) return false;
  const auto plan = PlanConv(lowering, *conv);
  return plan && LowerFused(lowering, conv->fused, *plan);
}

std::optional<Desc> LayoutWanted(const Lowering& lowering, ValueId value) {
  static constexpr std::array<std::string_view, 1> kConvs = {"Conv"};
  const NodeId reader = lowering.ReaderAmong(value, kConvs);
  if (reader == kNoNode) return std::nullopt;
  const auto conv = ReadConv(lowering, reader);
  if (!conv) return std::nullopt;
  const auto plan = PlanConv(lowering, *conv);
  if (!plan) return std::nullopt;
  return plan->pd.src_desc();
}

}  // namespace msc::onednn
