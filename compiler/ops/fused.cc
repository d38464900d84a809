#include "compiler/ops/fused.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/fused_eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/window_infer.h"

// Schemas of the operators of domain "msc"; fused.h defines them.

namespace msc {
namespace {

void RequireStored(const InferInput& in, std::size_t index) {
  RequireType(in, index, {DType::kF32, DType::kBF16, DType::kI8, DType::kU8});
}

/// Whether an optional f32 list has one entry per channel, or may also have one shared entry.
enum class Sharing : std::uint8_t { kPerChannel, kPerChannelOrShared };
void CheckList(const InferInput& in, std::size_t index, const Dim& channels, Sharing sharing) {
  RequireType(in, index, {DType::kF32});
  const Shape* list = ShapeOf(in, index);
  if (list == nullptr) return;
  const bool fits =
      list->size() == 1 &&
      (!list->front().known() || !channels.known() || list->front().size() == channels.size() ||
       (sharing == Sharing::kPerChannelOrShared && list->front().size() == 1));
  if (!fits) {
    RejectNode(*in.node, "input " + std::to_string(index) + " of shape " + ToString(*list) +
                             " must have one entry a channel");
  }
}

/// Checks the inputs of Conv and Gemm, except X and the shape of W, and returns the type of Y.
std::vector<ValueType> FinishInference(const InferInput& in, std::optional<Shape> y) {
  const Node& node = *in.node;
  const FusedAttrs attrs = ReadFusedAttrs(node);
  RequireStored(in, kFusedX);
  RequireType(in, kFusedW, {DType::kF32, DType::kBF16, DType::kI8});
  const bool stored = TypeOf(in, kFusedW) == DType::kI8;
  if (TypeOf(in, kFusedW) != DType::kUndefined && stored != HasInput(in, kFusedWeightScale)) {
    RejectNode(node, stored ? "i8 weights need input 4, their scale"
                            : "only i8 weights may have input 4, a scale");
  }
  if ((attrs.activation.op == "PRelu") != HasInput(in, kFusedSlope)) {
    RejectNode(node, "input 5, a slope, and activation PRelu need each other");
  }
  const Shape* w = ShapeOf(in, kFusedW);
  const Dim channels = w == nullptr || w->empty() ? Dim() : w->front();
  CheckList(in, kFusedBias, channels, Sharing::kPerChannel);
  CheckList(in, kFusedWeightScale, channels, Sharing::kPerChannelOrShared);
  CheckList(in, kFusedSlope, channels, Sharing::kPerChannelOrShared);
  RequireStored(in, kFusedResidual);
  const Shape* residual = ShapeOf(in, kFusedResidual);
  if (residual != nullptr && y) {
    const bool same =
        residual->size() == y->size() &&
        std::equal(y->begin(), y->end(), residual->begin(), [](const Dim& a, const Dim& b) {
          return !a.known() || !b.known() || a.size() == b.size();
        });
    if (!same) {
      RejectNode(node, "the residual " + ToString(*residual) + " must have the shape of Y, " +
                           ToString(*y));
    }
    for (std::size_t i = 0; i < y->size(); ++i) {
      (*y)[i] = MergeDims(node, (*y)[i], (*residual)[i]);
    }
  }
  return OneOutput(attrs.y_type, std::move(y));
}

std::vector<ValueType> InferFusedConv(const InferInput& in) {
  return FinishInference(in, ConvOutputShape(in));
}

std::vector<ValueType> InferFusedGemm(const InferInput& in) {
  const Shape* x = ShapeOf(in, kFusedX);
  const Shape* w = ShapeOf(in, kFusedW);
  if (w != nullptr && w->size() != 2) {
    RejectNode(*in.node, "W must be a matrix, not " + ToString(*w));
  }
  RequireRank(in, kFusedX, 2);
  if (x == nullptr) return FinishInference(in, std::nullopt);
  if (w != nullptr && x->back().known() && (*w)[1].known() && x->back().size() != (*w)[1].size()) {
    RejectNode(*in.node,
               "X " + ToString(*x) + " and W " + ToString(*w) + " must have equally many columns");
  }
  Shape y = *x;
  y.back() = w != nullptr ? (*w)[0] : Dim();
  return FinishInference(in, std::move(y));
}

FusedAttrs ReadWithoutSlope(const Node& node) {
  FusedAttrs attrs = ReadFusedAttrs(node);
  if (attrs.activation.op == "PRelu") RejectNode(node, "cannot have activation PRelu");
  return attrs;
}

void RequireOp(const Node& node, std::initializer_list<std::string_view> allowed) {
  const std::string op = AttrOr(node, "op", std::string());
  if (std::find(allowed.begin(), allowed.end(), op) == allowed.end()) {
    RejectNode(node, "attribute 'op' cannot be '" + op + "'");
  }
}

std::vector<ValueType> InferFusedBinary(const InferInput& in) {
  const FusedAttrs attrs = ReadWithoutSlope(*in.node);
  RequireOp(*in.node, {"Add", "Mul"});
  RequireStored(in, 0);
  RequireStored(in, 1);
  return OneOutput(attrs.y_type, BroadcastInputs(in));
}

std::vector<ValueType> InferFusedPool(const InferInput& in) {
  const FusedAttrs attrs = ReadWithoutSlope(*in.node);
  RequireOp(*in.node, {"MaxPool", "AveragePool", "GlobalAveragePool"});
  RequireStored(in, 0);
  const bool global = AttrOr(*in.node, "op", std::string()) == "GlobalAveragePool";
  return OneOutput(attrs.y_type, global ? GlobalPoolOutputShape(in) : PoolOutputShape(in));
}

std::vector<ValueType> InferGelu(const InferInput& in) {
  RequireOp(*in.node, {"Gelu", "GeluTanh"});
  RequireType(in, 0, {DType::kF32, DType::kBF16});
  return SameAsFirst(in);
}

std::vector<Tensor> EvalGelu(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferGelu, node, inputs);
  const Activation activation{.op = AttrOr(node, "op", std::string()), .alpha = 0.0F, .beta = 0.0F};
  const auto from = inputs[0]->Values<float>();
  const auto to = outputs[0].MutableValues<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<float>(Activate(activation, static_cast<double>(from[i]), 0.0));
  }
  return outputs;
}

template <std::vector<ValueType> (*kInfer)(const InferInput&),
          void (*kEval)(const Node&, FusedInputs, Tensor&)>
std::vector<Tensor> EvalFused(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(kInfer, node, inputs);
  kEval(node, inputs, outputs[0]);
  return outputs;
}

std::vector<AttrSpec> WithSharedAttrs(std::vector<AttrSpec> attrs) {
  for (const char* name : {"x", "r", "y"}) {
    attrs.push_back({.name = std::string(name) + "_scale", .otherwise = 1.0F});
    attrs.push_back({.name = std::string(name) + "_zero_point", .otherwise = std::int64_t{0}});
  }
  attrs.push_back({.name = "activation", .otherwise = std::string()});
  attrs.push_back({.name = "alpha", .otherwise = 0.0F});
  attrs.push_back({.name = "beta", .otherwise = 0.0F});
  attrs.push_back({.name = "y_type", .otherwise = std::int64_t{0}, .required = true});
  return attrs;
}

/// Counts one flop per element each for the residual and the activation.
double FinishFlops(const Node& node, std::span<const ValueType> out) {
  const bool residual = node.HasInput(kFusedResidual);
  const bool active = !AttrOr(node, "activation", std::string()).empty();
  return ElementsOf(out[0]) * ((residual ? 1.0 : 0.0) + (active ? 1.0 : 0.0));
}

double FusedConvFlops(const Node& node, std::span<const ValueType> in,
                      std::span<const ValueType> out) {
  return ConvFlops(node, in, out) + FinishFlops(node, out);
}

double FusedGemmFlops(const Node& node, std::span<const ValueType> in,
                      std::span<const ValueType> out) {
  const auto x = in[0].shape ? StaticDims(*in[0].shape) : std::nullopt;
  if (!x || x->size() < 2) return 0.0;
  const bool biased = node.HasInput(kFusedBias);
  return ElementsOf(out[0]) * (2.0 * static_cast<double>(x->back()) + (biased ? 1.0 : 0.0)) +
         FinishFlops(node, out);
}

}  // namespace

void RegisterFusedOps(OpRegistry& ops) {
  const std::vector<std::int64_t> derived;
  const AttrSpec op{.name = "op", .otherwise = std::string(), .required = true};
  std::vector<AttrSpec> conv_attrs = WindowAttrs(WindowKind::kConv);
  std::erase_if(conv_attrs, [](const AttrSpec& attr) { return attr.name == "auto_pad"; });
  for (AttrSpec& attr : conv_attrs) attr.required = true;
  const AttrSpec schedule{.name = "schedule", .otherwise = std::string()};
  conv_attrs.push_back(schedule);
  ops.Add({.name = "Conv",
           .domain = "msc",
           .inputs = {2, 6},
           .attrs = WithSharedAttrs(std::move(conv_attrs)),
           .infer = InferFusedConv,
           .eval = EvalFused<InferFusedConv, EvalFusedConv>,
           .flops = FusedConvFlops});
  ops.Add({.name = "Gemm",
           .domain = "msc",
           .inputs = {2, 6},
           .attrs = WithSharedAttrs({schedule}),
           .infer = InferFusedGemm,
           .eval = EvalFused<InferFusedGemm, EvalFusedGemm>,
           .flops = FusedGemmFlops});
  ops.Add({.name = "Binary",
           .domain = "msc",
           .inputs = {2, 2},
           .attrs = WithSharedAttrs({op}),
           .infer = InferFusedBinary,
           .eval = EvalFused<InferFusedBinary, EvalFusedBinary>,
           .flops = OneFlopEach});
  ops.Add({.name = "Gelu",
           .domain = "msc",
           .inputs = {1, 1},
           .attrs = {op},
           .infer = InferGelu,
           .eval = ViaF32(EvalGelu),
           .flops = [](const Node& /*node*/, std::span<const ValueType> /*in*/,
                       std::span<const ValueType> out) { return 14.0 * ElementsOf(out[0]); }});
  ops.Add({.name = "Pool",
           .domain = "msc",
           .inputs = {1, 1},
           .attrs = WithSharedAttrs({op,
                                     {.name = "kernel_shape", .otherwise = derived},
                                     {.name = "strides", .otherwise = derived},
                                     {.name = "pads", .otherwise = derived},
                                     {.name = "dilations", .otherwise = derived},
                                     {.name = "ceil_mode", .otherwise = std::int64_t{0}},
                                     {.name = "count_include_pad", .otherwise = std::int64_t{0}}}),
           .infer = InferFusedPool,
           .eval = EvalFused<InferFusedPool, EvalFusedPool>,
           .flops = PoolFlops});
}

}  // namespace msc
