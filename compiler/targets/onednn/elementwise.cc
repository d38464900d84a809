#include "compiler/targets/onednn/elementwise.h"

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;

std::optional<float> BoundOf(const Graph& graph, const Node& node, std::size_t index,
                             float otherwise) {
  if (index >= node.inputs.size() || node.inputs[index] == kNoValue) return otherwise;
  const auto values = ConstantFloats(graph, node.inputs[index]);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

// Returns the function of an operator without parameters.
std::optional<Function> PlainFunction(std::string_view op) {
  // The library's linear function is alpha * x + beta, its power alpha * x^beta.
  static const std::map<std::string_view, Function> functions = {
      {"Abs", {algorithm::eltwise_abs, 0, 0}},
      {"Exp", {algorithm::eltwise_exp, 0, 0}},
      {"Gelu", {algorithm::eltwise_gelu_erf, 0, 0}},
      {"GeluTanh", {algorithm::eltwise_gelu_tanh, 0, 0}},
      {"HardSwish", {algorithm::eltwise_hardswish, 0, 0}},
      {"Log", {algorithm::eltwise_log, 0, 0}},
      {"Neg", {algorithm::eltwise_linear, -1, 0}},
      {"Reciprocal", {algorithm::eltwise_pow, 1, -1}},
      {"Relu", {algorithm::eltwise_relu, 0, 0}},
      {"Sigmoid", {algorithm::eltwise_logistic, 0, 0}},
      {"Softplus", {algorithm::eltwise_soft_relu, 0, 0}},
      {"Sqrt", {algorithm::eltwise_sqrt, 0, 0}},
      {"Swish", {algorithm::eltwise_swish, 1, 0}},
      {"Tanh", {algorithm::eltwise_tanh, 0, 0}}};
  const auto it = functions.find(op);
  if (it == functions.end()) return std::nullopt;
  return it->second;
}

std::vector<Function> HardSigmoid(float alpha, float beta) {
  return {{algorithm::eltwise_linear, alpha, beta}, {algorithm::eltwise_clip_v2, 0.0F, 1.0F}};
}

}  // namespace

std::vector<Function> FunctionsOf(const Graph& graph, const Node& node) {
  const std::string& op = node.op;
  if (node.domain == "msc") {
    const auto gelu = PlainFunction(AttrOr(node, "op", std::string()));
    return gelu ? std::vector<Function>{*gelu} : std::vector<Function>{};
  }
  if (const auto plain = PlainFunction(op)) return {*plain};
  if (op == "LeakyRelu") return {{algorithm::eltwise_relu, AttrOr(node, "alpha", 0.01F), 0}};
  if (op == "Elu") return {{algorithm::eltwise_elu, AttrOr(node, "alpha", 1.0F), 0}};
  if (op == "HardSigmoid") {
    return HardSigmoid(AttrOr(node, "alpha", 0.2F), AttrOr(node, "beta", 0.5F));
  }
  if (op == "Clip") {
    const auto low = BoundOf(graph, node, 1, -std::numeric_limits<float>::infinity());
    const auto high = BoundOf(graph, node, 2, std::numeric_limits<float>::infinity());
    if (low && high) return {{algorithm::eltwise_clip_v2, *low, *high}};
  }
  if (op == "Pow") {
    const auto exponent = BoundOf(graph, node, 1, 1.0F);
    if (!exponent) return {};
    if (*exponent == 2.0F) return {{algorithm::eltwise_square, 0, 0}};
    if (*exponent == 0.5F) return {{algorithm::eltwise_sqrt, 0, 0}};
    return {{algorithm::eltwise_pow, 1.0F, *exponent}};
  }
  return {};
}

std::vector<Function> FunctionsOf(const Activation& activation) {
  const std::string& op = activation.op;
  if (op == "LeakyRelu") return {{algorithm::eltwise_relu, activation.alpha, 0}};
  if (op == "Clip") return {{algorithm::eltwise_clip_v2, activation.alpha, activation.beta}};
  if (op == "HardSigmoid") return HardSigmoid(activation.alpha, activation.beta);
  if (const auto plain = PlainFunction(op)) return {*plain};
  return {};
}

bool AddElementwise(Lowering& lowering, const std::vector<Function>& functions, const Desc& desc,
                    BufferId x, BufferId y, const StepLabel& label) {
  using dnnl::eltwise_forward;
  std::vector<eltwise_forward::primitive_desc> pds;
  for (const Function& f : functions) {
    auto pd = TryMake([&] {
      return eltwise_forward::primitive_desc(
          {dnnl::prop_kind::forward_inference, f.kind, desc, f.alpha, f.beta}, Lowering::NewAttr(),
          lowering.engine());
    });
    if (!pd) return false;
    pds.push_back(std::move(*pd));
  }
  for (std::size_t i = 0; i < pds.size(); ++i) {
    lowering.AddPrimitive<eltwise_forward>(
        pds[i], {{DNNL_ARG_SRC, desc, i == 0 ? x : y}, {DNNL_ARG_DST, desc, y}}, label);
  }
  return true;
}

bool LowerActivation(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId x = node.inputs[0];
  const auto dense = DenseDescOf(lowering.graph(), x);
  const auto functions = FunctionsOf(lowering.graph(), node);
  if (!dense || IsInt8(ElemOf(*dense)) || functions.empty()) return false;
  if (lowering.graph().constant(x)) return false;
  // Every layout is equally good for an elementwise function, so x keeps its layout.
  const Desc here = lowering.Here(x);
  const BufferId from = lowering.In(x, here);
  const auto victim = lowering.Dying(x, id, here);
  const BufferId to = victim ? lowering.OutOver(node.outputs[0], here, *victim)
                             : lowering.Out(node.outputs[0], here);
  if (!AddElementwise(lowering, functions, here, from, to, lowering.LabelOf(id, ElemOf(here)))) {
    return false;
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
  // Without AVX-512 it may take 20 ns an element, 40 times as long as the convolution before it.
  if (!pd || IsSlow(*pd)) return false;
  const BufferId x = lowering.In(node.inputs[0], pd->src_desc());
  const BufferId w = lowering.In(node.inputs[1], *slope);
  const auto victim = lowering.Dying(node.inputs[0], id, pd->dst_desc());
  const BufferId y = victim ? lowering.OutOver(node.outputs[0], pd->dst_desc(), *victim)
                            : lowering.Out(node.outputs[0], pd->dst_desc());
  lowering.AddPrimitive<prelu_forward>(*pd,
                                       {{DNNL_ARG_SRC, pd->src_desc(), x},
                                        {DNNL_ARG_WEIGHTS, weights, w},
                                        {DNNL_ARG_DST, pd->dst_desc(), y}},
                                       lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::onednn
