#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;

struct Function {
  algorithm kind = algorithm::eltwise_relu;
  float alpha = 0.0F;
  float beta = 0.0F;
};

std::optional<float> BoundOf(const Graph& graph, const Node& node, std::size_t index,
                             float otherwise) {
  if (index >= node.inputs.size() || node.inputs[index] == kNoValue) return otherwise;
  const auto values = ConstantFloats(graph, node.inputs[index]);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

// Functions to apply one after the other; empty where the library has none.
std::vector<Function> FunctionsOf(const Graph& graph, const Node& node) {
  const std::string& op = node.op;
  if (op == "Relu") return {{algorithm::eltwise_relu, 0, 0}};
  if (op == "LeakyRelu") return {{algorithm::eltwise_relu, AttrOr(node, "alpha", 0.01F), 0}};
  if (op == "Sigmoid") return {{algorithm::eltwise_logistic, 0, 0}};
  if (op == "Tanh") return {{algorithm::eltwise_tanh, 0, 0}};
  if (op == "HardSwish") return {{algorithm::eltwise_hardswish, 0, 0}};
  if (op == "Exp") return {{algorithm::eltwise_exp, 0, 0}};
  if (op == "Sqrt") return {{algorithm::eltwise_sqrt, 0, 0}};
  if (op == "Abs") return {{algorithm::eltwise_abs, 0, 0}};
  if (op == "HardSigmoid") {
    return {{algorithm::eltwise_linear, AttrOr(node, "alpha", 0.2F), AttrOr(node, "beta", 0.5F)},
            {algorithm::eltwise_clip_v2, 0.0F, 1.0F}};
  }
  if (op == "Clip") {
    const auto low = BoundOf(graph, node, 1, -std::numeric_limits<float>::infinity());
    const auto high = BoundOf(graph, node, 2, std::numeric_limits<float>::infinity());
    if (low && high) return {{algorithm::eltwise_clip_v2, *low, *high}};
  }
  return {};
}

}  // namespace

bool LowerActivation(Lowering& lowering, NodeId id) {
  using dnnl::eltwise_forward;
  const Node& node = lowering.node(id);
  const auto dense = DenseDescOf(lowering.graph(), node.inputs[0]);
  const std::vector<Function> functions = FunctionsOf(lowering.graph(), node);
  if (!dense || IsInt8(ElemOf(*dense)) || functions.empty()) return false;
  if (lowering.graph().constant(node.inputs[0])) return false;
  // Elementwise: any layout is as good as another, so it stays.
  const Desc here = lowering.Here(node.inputs[0]);
  std::vector<eltwise_forward::primitive_desc> pds;
  for (const Function& f : functions) {
    auto pd = TryMake([&] {
      return eltwise_forward::primitive_desc(
          {dnnl::prop_kind::forward_inference, f.kind, here, f.alpha, f.beta}, Lowering::NewAttr(),
          lowering.engine());
    });
    if (!pd) return false;
    pds.push_back(std::move(*pd));
  }
  const BufferId x = lowering.In(node.inputs[0], here);
  const auto victim = lowering.Dying(node.inputs[0], id, here);
  const BufferId y = victim ? lowering.OutOver(node.outputs[0], here, *victim)
                            : lowering.Out(node.outputs[0], here);
  for (std::size_t i = 0; i < pds.size(); ++i) {
    lowering.AddPrimitive<eltwise_forward>(
        pds[i], {{DNNL_ARG_SRC, here, i == 0 ? x : y}, {DNNL_ARG_DST, here, y}},
        lowering.LabelOf(id, ElemOf(here)));
  }
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerPRelu(Lowering& lowering, NodeId id) {
  using dnnl::prelu_forward;
  const Node& node = lowering.node(id);
  const auto dense = DenseDescOf(lowering.graph(), node.inputs[0]);
  const auto slope = DenseDescOf(lowering.graph(), node.inputs[1]);
  if (!dense || !slope || IsInt8(ElemOf(*dense)) || lowering.graph().constant(node.inputs[0])) {
    return false;
  }
  const std::size_t rank = dense->dims().size();
  const Dims own = slope->dims();
  if (own.size() > rank || ElemOf(*slope) != ElemOf(*dense)) return false;
  Dims dims(rank - own.size(), 1);
  dims.insert(dims.end(), own.begin(), own.end());
  const Desc weights = DenseDesc(dims, ElemOf(*slope));
  const std::vector<Desc> layouts = {lowering.Here(node.inputs[0]), *dense};
  const auto pd = FirstFast(layouts, [&](const Desc& layout) {
    return prelu_forward::primitive_desc({dnnl::prop_kind::forward_inference, layout, weights},
                                         Lowering::NewAttr(), lowering.engine());
  });
  if (!pd) return false;
  const BufferId x = lowering.In(node.inputs[0], pd->src_desc());
  const BufferId w = lowering.In(node.inputs[1], *slope);
  const BufferId y = lowering.Out(node.outputs[0], pd->dst_desc());
  lowering.AddPrimitive<prelu_forward>(*pd,
                                       {{DNNL_ARG_SRC, pd->src_desc(), x},
                                        {DNNL_ARG_WEIGHTS, weights, w},
                                        {DNNL_ARG_DST, pd->dst_desc(), y}},
                                       lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerSoftmax(Lowering& lowering, NodeId id) {
  using dnnl::softmax_forward;
  const Node& node = lowering.node(id);
  const auto dense = DenseDescOf(lowering.graph(), node.inputs[0]);
  if (!dense || IsInt8(ElemOf(*dense)) || lowering.graph().constant(node.inputs[0])) return false;
  const auto rank = static_cast<std::int64_t>(DimsOf(lowering.graph(), node.inputs[0]).size());
  auto axis = AttrOr<std::int64_t>(node, "axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  const auto pd = TryMake([&] {
    return softmax_forward::primitive_desc(
        {dnnl::prop_kind::forward_inference, *dense, static_cast<int>(axis)}, Lowering::NewAttr(),
        lowering.engine());
  });
  if (!pd) return false;
  const BufferId x = lowering.In(node.inputs[0], *dense);
  const BufferId y = lowering.Out(node.outputs[0], *dense);
  lowering.AddPrimitive<softmax_forward>(*pd,
                                         {{DNNL_ARG_SRC, *dense, x}, {DNNL_ARG_DST, *dense, y}},
                                         lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerNorm(Lowering& lowering, NodeId id) {
  using dnnl::batch_normalization_forward;
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const auto dense = DenseDescOf(graph, node.inputs[0]);
  if (!dense || IsInt8(ElemOf(*dense)) || dense->dims().size() < 2 || node.inputs.size() != 5 ||
      graph.constant(node.inputs[0]) || AttrOr<std::int64_t>(node, "training_mode", 0) != 0) {
    return false;
  }
  for (std::size_t i = 1; i < 5; ++i) {
    if (!ConstantFloats(graph, node.inputs[i])) return false;
  }
  using dnnl::normalization_flags;
  const auto flags = normalization_flags::use_global_stats | normalization_flags::use_scale |
                     normalization_flags::use_shift;
  const std::vector<Desc> layouts = {lowering.Here(node.inputs[0]), *dense};
  const auto pd = FirstFast(layouts, [&](const Desc& layout) {
    const batch_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, layout,
                                                 AttrOr(node, "epsilon", 1e-5F), flags);
    return batch_normalization_forward::primitive_desc(desc, Lowering::NewAttr(),
                                                       lowering.engine());
  });
  if (!pd) return false;
  const Desc channel = DenseDesc({dense->dims()[1]}, Elem::f32);
  const BufferId x = lowering.In(node.inputs[0], pd->src_desc());
  const BufferId y = lowering.Out(node.outputs[0], pd->dst_desc());
  lowering.AddPrimitive<batch_normalization_forward>(
      *pd,
      {{DNNL_ARG_SRC, pd->src_desc(), x},
       {DNNL_ARG_SCALE, channel, lowering.In(node.inputs[1], channel)},
       {DNNL_ARG_SHIFT, channel, lowering.In(node.inputs[2], channel)},
       {DNNL_ARG_MEAN, channel, lowering.In(node.inputs[3], channel)},
       {DNNL_ARG_VARIANCE, channel, lowering.In(node.inputs[4], channel)},
       {DNNL_ARG_DST, pd->dst_desc(), y}},
      lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::onednn
