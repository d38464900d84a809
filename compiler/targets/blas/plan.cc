#include "compiler/targets/blas/plan.h"

#include <algorithm>
#include <limits>

#include "compiler/ops/eval.h"
#include "compiler/ops/fused.h"

namespace msc::blas {
namespace {

/// Returns the dims of an f32 tensor with elements; nullopt for other values.
std::optional<Dims> DimsOf(const Graph& graph, ValueId value) {
  const ValueType& type = graph.type(value);
  if (type.dtype != DType::kF32 || type.container != Container::kTensor || !type.shape) {
    return std::nullopt;
  }
  std::optional<Dims> dims = StaticDims(*type.shape);
  if (dims && ElementCount(*dims) == 0) return std::nullopt;
  return dims;
}

/// Reads bias, residual and activation of msc.Conv and msc.Gemm. Returns false if one is not f32.
bool ReadClosing(const Graph& graph, const Node& node, Plan& plan) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  if (attrs.y_type != DType::kF32) return false;
  plan.closes = !attrs.activation.op.empty();
  if (node.Input(kFusedWeightScale) != kNoValue) return false;
  for (const std::size_t index : {kFusedBias, kFusedResidual, kFusedSlope}) {
    const ValueId value = node.Input(index);
    if (value == kNoValue) continue;
    if (!DimsOf(graph, value)) return false;
    plan.closes = true;
  }
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
  // A convolution over single pixels is weights [m, k] times an image [k, pixels] as it lies in
  // memory.
  plan.a = node.inputs[1];
  plan.b = node.inputs[0];
  plan.product = {.m = channels / window.group, .n = plane, .k = w->at(1)};
  const kernel::Sgemm& p = plan.product;
  plan.batch = {{.extent = x->at(0), .b = window.group * p.k * p.n, .c = window.group * p.m * p.n},
                {.extent = window.group, .a = p.m * p.k, .b = p.k * p.n, .c = p.m * p.n}};
  plan.seen = {x->at(0), window.group, p.m};
  plan.seen.insert(plan.seen.end(), x->begin() + 2, x->end());
  plan.rows = 3;
  plan.channels = 1;
  if (node.domain == "msc")
    return ReadClosing(graph, node, plan) ? std::optional(plan) : std::nullopt;
  if (const ValueId bias = node.Input(2); bias != kNoValue) {
    if (!DimsOf(graph, bias)) return std::nullopt;
    plan.closes = true;
  }
  return plan;
}

/// Describes the result as one product without batch axes.
void SeeAsOne(const Graph& graph, const Node& node, Plan& plan) {
  plan.seen = *DimsOf(graph, node.outputs[0]);
  plan.rows = plan.seen.size() - 1;
  plan.channels = plan.rows;
}

std::optional<Plan> PlanFusedGemm(const Graph& graph, const Node& node, Plan plan) {
  const auto x = DimsOf(graph, node.inputs[0]);
  const auto w = DimsOf(graph, node.inputs[1]);
  if (!x || !w) return std::nullopt;
  plan.a = node.inputs[0];
  plan.b = node.inputs[1];
  plan.product = {
      .m = ElementCount(*x) / x->back(), .n = w->at(0), .k = x->back(), .transpose_b = true};
  SeeAsOne(graph, node, plan);
  return ReadClosing(graph, node, plan) ? std::optional(plan) : std::nullopt;
}

std::optional<Plan> PlanGemm(const Graph& graph, const Node& node, Plan plan) {
  const auto a = DimsOf(graph, node.inputs[0]);
  const auto b = DimsOf(graph, node.inputs[1]);
  if (!a || !b) return std::nullopt;
  plan.a = node.inputs[0];
  plan.b = node.inputs[1];
  kernel::Sgemm& p = plan.product;
  p.transpose_a = AttrOr(node, "transA", std::int64_t{0}) != 0;
  p.transpose_b = AttrOr(node, "transB", std::int64_t{0}) != 0;
  p.m = a->at(p.transpose_a ? 1 : 0);
  p.k = a->at(p.transpose_a ? 0 : 1);
  p.n = b->at(p.transpose_b ? 0 : 1);
  SeeAsOne(graph, node, plan);
  plan.alpha = AttrOr(node, "alpha", 1.0F);
  plan.beta = AttrOr(node, "beta", 1.0F);
  plan.start = node.Input(2);
  if (plan.start != kNoValue && !DimsOf(graph, plan.start)) return std::nullopt;
  // The product is computed with alpha 1 and beta 0; the loops that follow multiply and add.
  plan.closes = plan.alpha != 1 || plan.start != kNoValue;
  return plan;
}

std::optional<Plan> PlanMatMul(const Graph& graph, const Node& node, Plan plan) {
  const auto a = DimsOf(graph, node.inputs[0]);
  const auto b = DimsOf(graph, node.inputs[1]);
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  plan.a = node.inputs[0];
  plan.b = node.inputs[1];
  kernel::Sgemm& p = plan.product;
  p = {.m = a->at(a->size() - 2), .n = b->back(), .k = a->back()};
  SeeAsOne(graph, node, plan);
  if (b->size() == 2) {  // one product over all rows
    p.m = ElementCount(*a) / p.k;
    return plan;
  }
  const Dims batch(plan.seen.begin(), plan.seen.end() - 2);
  // In units of matrices.
  const Dims a_strides = BroadcastStrides({a->begin(), a->end() - 2}, batch);
  const Dims b_strides = BroadcastStrides({b->begin(), b->end() - 2}, batch);
  std::int64_t c_stride = p.m * p.n;
  for (std::size_t axis = batch.size(); axis-- > 0; c_stride *= batch[axis]) {
    plan.batch.insert(plan.batch.begin(), {.extent = batch[axis],
                                           .a = a_strides[axis] * p.m * p.k,
                                           .b = b_strides[axis] * p.k * p.n,
                                           .c = c_stride});
  }
  return plan;
}

}  // namespace

std::optional<Plan> PlanNode(const Graph& graph, NodeId id, bool transposes) {
  const Node& node = graph.node(id);
  if (node.inputs.size() < 2 || node.inputs[0] == kNoValue || node.inputs[1] == kNoValue) {
    return std::nullopt;
  }
  if (node.outputs.empty() || node.outputs[0] == kNoValue) return std::nullopt;
  if (!DimsOf(graph, node.outputs[0])) return std::nullopt;
  std::optional<Plan> made;
  if (node.Is("Conv") || node.Is("Conv", "msc")) made = PlanConv(graph, node, {});
  if (node.Is("Gemm", "msc")) made = PlanFusedGemm(graph, node, {});
  if (node.Is("Gemm")) made = PlanGemm(graph, node, {});
  if (node.Is("MatMul")) made = PlanMatMul(graph, node, {});
  if (!made) return std::nullopt;
  kernel::Sgemm& p = made->product;
  // The libraries take sizes as int.
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max()) return std::nullopt;
  if (!transposes && p.transpose_a) return std::nullopt;
  if (!transposes && p.transpose_b) {
    if (graph.constant(made->b) == nullptr) return std::nullopt;
    made->b_packed = true;
    p.transpose_b = false;
  }
  p.lda = p.transpose_a ? p.m : p.k;
  p.ldb = p.transpose_b ? p.k : p.n;
  p.ldc = p.n;
  return made;
}

}  // namespace msc::blas
