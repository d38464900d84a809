#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::deconvolution_forward;

struct Deconv {
  Window window;  // with pads that match the size of the output
  Dims x;
  Dims y;
  // Weights [C, M/group, kernel...] viewed as [group, M/group, C/group, kernel...].
  Desc w;
  std::vector<float> bias = {};
  Elem elem = Elem::f32;
};

// Returns a desc that views the weights of the graph with input and output axes exchanged.
Desc WeightsDesc(const Dims& w, std::int64_t group, Elem elem) {
  const std::int64_t inputs = w[0] / group;
  const std::int64_t points = ElementCount({w.begin() + 2, w.end()});
  Dims dims;
  Dims strides;
  const auto add = [&](std::int64_t dim, std::int64_t stride) {
    dims.push_back(dim);
    strides.push_back(stride);
  };
  if (group > 1) add(group, inputs * w[1] * points);
  add(w[1], points);
  add(inputs, w[1] * points);
  std::int64_t stride = points;
  for (std::size_t i = 2; i < w.size(); ++i) {
    stride /= w[i];
    add(w[i], stride);
  }
  return {dims, elem, strides};
}

std::optional<Deconv> ReadDeconv(const Lowering& lowering, NodeId id) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(id);
  const auto x = DenseDescOf(graph, node.inputs[0]);
  const auto w = DenseDescOf(graph, node.inputs[1]);
  const auto y = DenseDescOf(graph, node.outputs[0]);
  if (!x || !w || !y || ElemOf(*x) != ElemOf(*w) || IsInt8(ElemOf(*x))) return std::nullopt;
  if (graph.constant(node.inputs[0]) || !graph.constant(node.inputs[1])) return std::nullopt;
  const Dims x_dims = x->dims();
  const Dims w_dims = w->dims();
  if (x_dims.size() < 3 || x_dims.size() > 5 || w_dims.size() != x_dims.size()) return std::nullopt;
  // ReadWindow resolves auto_pad as for Conv; nodes with auto_pad are rejected below.
  Node plain = node;
  plain.attrs.erase("auto_pad");
  Deconv deconv{.window = ReadWindow(plain, {x_dims.begin() + 2, x_dims.end()},
                                     {w_dims.begin() + 2, w_dims.end()}),
                .x = x_dims,
                .y = y->dims(),
                .w = Desc(),
                .elem = ElemOf(*x)};
  Window& window = deconv.window;
  const std::string mode = AttrOr(node, "auto_pad", std::string("NOTSET"));
  if (mode != "NOTSET" || node.attrs.contains("output_shape")) return std::nullopt;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    // The size without padding; what the output lacks of it is padding.
    const std::int64_t full =
        (x_dims[i + 2] - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    window.pads_end[i] = full - window.pads_begin[i] - deconv.y[i + 2];
    if (window.pads_begin[i] < 0 || window.pads_end[i] < 0) return std::nullopt;
  }
  deconv.w = WeightsDesc(w_dims, window.group, ElemOf(*w));
  if (node.HasInput(2)) {
    auto bias = ConstantFloats(graph, node.inputs[2]);
    if (!bias) return std::nullopt;
    deconv.bias = std::move(*bias);
  }
  return deconv;
}

}  // namespace

bool LowerDeconv(Lowering& lowering, NodeId id) {
  const auto deconv = ReadDeconv(lowering, id);
  if (!deconv) return false;
  const Node& node = lowering.node(id);
  const Window& window = deconv->window;
  Dims dilations = window.dilations;  // the library counts skipped points
  for (std::int64_t& dilation : dilations) --dilation;
  const Dims channels = {deconv->y[1]};
  const Desc bias = deconv->bias.empty() ? Desc() : DenseDesc(channels, Elem::f32);
  const auto pd = TryMake([&] {
    const deconvolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
        AnyDesc(deconv->x, deconv->elem), AnyDesc(deconv->w.dims(), deconv->elem), bias,
        AnyDesc(deconv->y, deconv->elem), window.strides, dilations, window.pads_begin,
        window.pads_end);
    return deconvolution_forward::primitive_desc(desc, Lowering::NewAttr(), lowering.engine());
  });
  if (!pd) return false;
  const BufferId x = lowering.In(node.inputs[0], pd->src_desc());
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, pd->src_desc(), x},
      {DNNL_ARG_WEIGHTS, pd->weights_desc(),
       lowering.PackedConstant(node.inputs[1], deconv->w, pd->weights_desc())}};
  if (!deconv->bias.empty()) {
    arguments.push_back({DNNL_ARG_BIAS, bias, lowering.NewConstant(channels, deconv->bias)});
  }
  arguments.push_back(
      {DNNL_ARG_DST, pd->dst_desc(), lowering.Out(node.outputs[0], pd->dst_desc())});
  lowering.AddPrimitive<deconvolution_forward>(*pd, std::move(arguments),
                                               lowering.LabelOf(id, deconv->elem));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::onednn
