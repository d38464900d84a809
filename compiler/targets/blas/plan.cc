#include "compiler/targets/blas/plan.h"

#include <algorithm>
#include <limits>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"

namespace msc::blas {
namespace {

/// The dims of an f32 tensor with elements; none for other values.
std::optional<Dims> DimsOf(const Graph& graph, ValueId value) {
  const ValueType& type = graph.type(value);
  if (type.dtype != DType::kF32 || type.container != Container::kTensor || !type.shape) {
    return std::nullopt;
  }
  std::optional<Dims> dims = StaticDims(*type.shape);
  if (dims && ElementCount(*dims) == 0) return std::nullopt;
  return dims;
}

ValueId InputAt(const Node& node, std::size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : kNoValue;
}

std::optional<std::vector<float>> Constant(const Graph& graph, ValueId value) {
  const TensorPtr tensor = graph.constant(value);
  if (!tensor || tensor->dtype() != DType::kF32) return std::nullopt;
  const auto values = tensor->Values<float>();
  return std::vector<float>(values.begin(), values.end());
}

/// Bias, residual, activation and slope of msc.Conv and msc.Gemm; false where one is not of f32.
bool ReadClosing(const Graph& graph, const Node& node, Plan& plan) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  if (attrs.y_type != DType::kF32) return false;
  plan.closing.activation = attrs.activation;
  if (const ValueId bias = InputAt(node, kFusedBias); bias != kNoValue) {
    const auto values = Constant(graph, bias);
    if (!values) return false;
    plan.closing.bias = *values;
  }
  plan.residual = InputAt(node, kFusedResidual);
  plan.closing.residual = plan.residual != kNoValue;
  if (plan.closing.residual && !DimsOf(graph, plan.residual)) return false;
  if (InputAt(node, kFusedWeightScale) != kNoValue) return false;
  if (attrs.activation.op != "PRelu") return true;
  const auto slope = Constant(graph, InputAt(node, kFusedSlope));
  if (!slope) return false;
  plan.closing.slope = *slope;
  plan.closing.slope.resize(static_cast<std::size_t>(plan.closing.channels), slope->front());
  return true;
}

std::optional<Plan> PlanConv(const Graph& graph, const Node& node, Plan plan) {
  const auto x = DimsOf(graph, node.inputs[0]);
  const auto w = DimsOf(graph, node.inputs[1]);
  if (!x || !w || x->size() < 3) return std::nullopt;
  const Window window = ReadWindow(node, {x->begin() + 2, x->end()}, {w->begin() + 2, w->end()});
  const auto all = [](const std::vector<std::int64_t>& list, std::int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v == value; });
  };
  if (!all(window.kernel, 1) || !all(window.strides, 1) || !all(window.pads_begin, 0) ||
      !all(window.pads_end, 0)) {
    return std::nullopt;
  }
  const std::int64_t channels = w->at(0);
  const std::int64_t plane = ElementCount({x->begin() + 2, x->end()});
  plan.a = node.inputs[1];
  plan.b = node.inputs[0];
  plan.product = {.m = channels / window.group, .n = plane, .k = w->at(1)};
  const Product& p = plan.product;
  for (std::int64_t n = 0; n < x->at(0); ++n) {
    for (std::int64_t g = 0; g < window.group; ++g) {
      const std::int64_t part = n * window.group + g;
      plan.parts.push_back({.a = g * p.m * p.k, .b = part * p.k * p.n, .c = part * p.m * p.n});
    }
  }
  plan.closing.channel_is_row = true;
  plan.closing.channels = channels;
  if (node.domain == "msc")
    return ReadClosing(graph, node, plan) ? std::optional(plan) : std::nullopt;
  if (const ValueId bias = InputAt(node, 2); bias != kNoValue) {
    const auto values = Constant(graph, bias);
    if (!values) return std::nullopt;
    plan.closing.bias = *values;
  }
  return plan;
}

std::optional<Plan> PlanFusedGemm(const Graph& graph, const Node& node, Plan plan) {
  const auto x = DimsOf(graph, node.inputs[0]);
  const auto w = DimsOf(graph, node.inputs[1]);
  if (!x || !w) return std::nullopt;
  plan.a = node.inputs[0];
  plan.b = node.inputs[1];
  plan.product = {
      .m = ElementCount(*x) / x->back(), .n = w->at(0), .k = x->back(), .transpose_b = true};
  plan.parts = {{}};
  plan.closing.channels = plan.product.n;
  if (!ReadClosing(graph, node, plan)) return std::nullopt;
  return plan;
}

std::optional<Plan> PlanGemm(const Graph& graph, const Node& node, Plan plan) {
  const auto a = DimsOf(graph, node.inputs[0]);
  const auto b = DimsOf(graph, node.inputs[1]);
  if (!a || !b) return std::nullopt;
  plan.a = node.inputs[0];
  plan.b = node.inputs[1];
  Product& p = plan.product;
  p.transpose_a = AttrOr(node, "transA", std::int64_t{0}) != 0;
  p.transpose_b = AttrOr(node, "transB", std::int64_t{0}) != 0;
  p.m = a->at(p.transpose_a ? 1 : 0);
  p.k = a->at(p.transpose_a ? 0 : 1);
  p.n = b->at(p.transpose_b ? 0 : 1);
  p.alpha = AttrOr(node, "alpha", 1.0F);
  plan.parts = {{}};
  plan.start = InputAt(node, 2);
  if (plan.start == kNoValue) return plan;
  p.beta = AttrOr(node, "beta", 1.0F);
  auto c = DimsOf(graph, plan.start);
  if (!c) return std::nullopt;
  c->insert(c->begin(), 2 - c->size(), 1);
  plan.start_row = c->at(0) == 1 ? 0 : c->at(1);
  plan.start_column = c->at(1) == 1 ? 0 : 1;
  return plan;
}

std::optional<Plan> PlanMatMul(const Graph& graph, const Node& node, Plan plan) {
  const auto a = DimsOf(graph, node.inputs[0]);
  const auto b = DimsOf(graph, node.inputs[1]);
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  plan.a = node.inputs[0];
  plan.b = node.inputs[1];
  Product& p = plan.product;
  p = {.m = a->at(a->size() - 2), .n = b->back(), .k = a->back()};
  if (b->size() == 2) {  // one product over all rows
    p.m = ElementCount(*a) / p.k;
    plan.parts = {{}};
    return plan;
  }
  const Dims out = *DimsOf(graph, plan.c);
  const Dims batch(out.begin(), out.end() - 2);
  const Dims a_strides = BroadcastStrides({a->begin(), a->end() - 2}, batch);
  const Dims b_strides = BroadcastStrides({b->begin(), b->end() - 2}, batch);
  // Strides of the leading dims count matrices.
  Dims index(batch.size(), 0);
  for (std::int64_t i = 0; i < ElementCount(batch); ++i) {
    std::int64_t a_at = 0;
    std::int64_t b_at = 0;
    std::int64_t rest = i;
    for (std::size_t axis = batch.size(); axis-- > 0; rest /= batch[axis]) {
      a_at += rest % batch[axis] * a_strides[axis];
      b_at += rest % batch[axis] * b_strides[axis];
    }
    plan.parts.push_back({.a = a_at * p.m * p.k, .b = b_at * p.k * p.n, .c = i * p.m * p.n});
  }
  return plan;
}

}  // namespace

std::optional<Plan> PlanNode(const Graph& graph, NodeId id, const Library& library) {
  const Node& node = graph.node(id);
  if (node.inputs.size() < 2 || node.inputs[0] == kNoValue || node.inputs[1] == kNoValue) {
    return std::nullopt;
  }
  if (node.outputs.empty() || node.outputs[0] == kNoValue) return std::nullopt;
  if (!DimsOf(graph, node.outputs[0])) return std::nullopt;
  Plan plan;
  plan.c = node.outputs[0];
  std::optional<Plan> made;
  if (node.Is("Conv") || node.Is("Conv", "msc")) made = PlanConv(graph, node, plan);
  if (node.Is("Gemm", "msc")) made = PlanFusedGemm(graph, node, plan);
  if (node.Is("Gemm")) made = PlanGemm(graph, node, plan);
  if (node.Is("MatMul")) made = PlanMatMul(graph, node, plan);
  if (!made) return std::nullopt;
  // The libraries count in int.
  const Product& p = made->product;
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max()) return std::nullopt;
  if (library.general) return made;
  if (p.alpha != 1 || (p.beta != 0 && p.beta != 1) || p.transpose_a) return std::nullopt;
  if (!p.transpose_b) return made;
  if (graph.constant(made->b) == nullptr) return std::nullopt;
  made->b_packed = true;
  made->product.transpose_b = false;
  return made;
}

}  // namespace msc::blas
