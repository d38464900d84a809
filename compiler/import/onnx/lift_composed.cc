#include "compiler/import/onnx/lift_composed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

// Operators that simpler ones of set 17 compose, of all sets.

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kOnnxF32 = 1;  // TensorProto.FLOAT

/// Returns the number of axes of an input; rejects one whose rank is unknown.
std::int64_t RankOf(const Lift& lift, std::size_t index) {
  const ValueType type = lift.InputType(index);
  if (!type.shape) lift.Reject("needs an input whose number of axes is known");
  return static_cast<std::int64_t>(type.shape->size());
}

/// Returns a size of an input, counted from the end if `axis` is negative; nothing if it is open.
std::optional<std::int64_t> SizeOf(const Lift& lift, std::size_t index, std::int64_t axis) {
  const ValueType type = lift.InputType(index);
  if (!type.shape) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(type.shape->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  const Dim& dim = (*type.shape)[static_cast<std::size_t>(axis)];
  return dim.known() ? std::optional(dim.size()) : std::nullopt;
}

bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Converts Swish: x * sigmoid(alpha * x).
void LiftSwish(Lift& lift) {
  const float alpha = lift.Take("alpha", 1.0F);
  Steps steps(lift);
  EndSwish(steps, lift.Input(0), lift.InputType(0).dtype, alpha);
}

/// Converts SwiGLU: swish(a) * b, for inputs of one shape.
void LiftSwiGlu(Lift& lift) {
  const float alpha = lift.Take("alpha", 1.0F);
  const std::string a = lift.Input(0);
  const std::string b = lift.Input(1);
  const auto a_shape = lift.InputType(0).shape;
  const auto b_shape = lift.InputType(1).shape;
  // The product below would stretch one of two shapes.
  const auto differ = [](const Dim& x, const Dim& y) {
    return x.known() && y.known() && x.size() != y.size();
  };
  if (a_shape && b_shape &&
      (a_shape->size() != b_shape->size() ||
       !std::equal(a_shape->begin(), a_shape->end(), b_shape->begin(), std::not_fn(differ)))) {
    lift.Reject("needs inputs of one shape, not " + ToString(*a_shape) + " and " +
                ToString(*b_shape));
  }
  Steps steps(lift);
  const std::string gate = SwishGate(steps, a, lift.InputType(0).dtype, alpha);
  steps.End("Mul", {steps.Add("Mul", {a, gate}, "swish"), b});
}

void LiftMish(Lift& lift) {
  const std::string x = lift.Input(0);
  Steps steps(lift);
  steps.End("Mul", {x, steps.Add("Tanh", {steps.Add("Softplus", {x}, "softplus")}, "tanh")});
}

void LiftGelu(Lift& lift) {
  const std::string form = lift.Take("approximate", std::string("none"));
  if (form != "none" && form != "tanh") lift.Reject("approximate cannot be '" + form + "'");
  Steps steps(lift);
  const auto factors = GeluFactors(steps, lift.Input(0), lift.InputType(0).dtype,
                                   form == "none" ? GeluForm::kExact : GeluForm::kTanh);
  steps.End("Mul", {factors.begin(), factors.end()});
}

/// Returns x + bias below -lambd, x - bias above lambd, and 0 between.
void LiftShrink(Lift& lift) {
  const float lambd = lift.Take("lambd", 0.5F);
  const float bias = lift.Take("bias", 0.0F);
  const DType dtype = lift.InputType(0).dtype;
  const std::string x = lift.Input(0);
  Steps steps(lift);
  const auto number = [&](double value, const char* what) {
    return steps.Number(value, dtype, what);
  };
  const std::string offset = number(bias, "bias");
  const std::string high = steps.Add("Greater", {x, number(lambd, "lambd")}, "high");
  const std::string low = steps.Add("Less", {x, number(-lambd, "minus_lambd")}, "low");
  const std::string above =
      steps.Add("Where", {high, steps.Add("Sub", {x, offset}, "less"), number(0, "zero")}, "above");
  steps.End("Where", {low, steps.Add("Add", {x, offset}, "more"), above});
}

/// Returns (x - mean) / (deviation + 1e-9) over some axes, as the function of ONNX does.
void LiftMeanVarianceNormalization(Lift& lift) {
  const Ints axes = lift.Take("axes", Ints{0, 2, 3});
  const DType dtype = lift.InputType(0).dtype;
  const std::string x = lift.Input(0);
  Steps steps(lift);
  const AttrMap over = {{"axes", axes}, {"keepdims", std::int64_t{1}}};
  const std::string mean = steps.Add("ReduceMean", {x}, "mean", over);
  const std::string centred = steps.Add("Sub", {x, mean}, "centred");
  const std::string variance =
      steps.Add("ReduceMean", {steps.Add("Mul", {centred, centred}, "square")}, "variance", over);
  const std::string deviation = steps.Add("Sqrt", {variance}, "deviation");
  const std::string least = steps.Number(1e-9, dtype, "least");
  steps.End("Div", {centred, steps.Add("Add", {deviation, least}, "divisor")});
}

/// Expands GlobalLpPool: the p-norm over all axes behind the channels.
void LiftGlobalLpPool(Lift& lift) {
  const std::int64_t p = lift.Take("p", std::int64_t{2});
  const std::int64_t rank = RankOf(lift, 0);
  if (rank < 3 || p < 1) lift.Reject("needs an input [N, C, ...] and p >= 1");
  Ints axes(static_cast<std::size_t>(rank) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const AttrMap over = {{"axes", axes}, {"keepdims", std::int64_t{1}}};
  const std::string x = lift.Input(0);
  if (p <= 2) {
    Steps(lift).End(p == 1 ? "ReduceL1" : "ReduceL2", {x}, over);
    return;
  }
  const DType dtype = lift.InputType(0).dtype;
  Steps steps(lift);
  const auto power = static_cast<double>(p);
  const std::string size = steps.Add("Abs", {x}, "size");
  const std::string raised = steps.Add("Pow", {size, steps.Number(power, dtype, "p")}, "raised");
  const std::string sum = steps.Add("ReduceSum", {raised, steps.List(axes, "axes")}, "sum",
                                    {{"keepdims", std::int64_t{1}}});
  steps.End("Pow", {sum, steps.Number(1 / power, dtype, "root")});
}

/// Expands LpPool: the p-norm over windows, as the mean of powers times their number. The mean
/// counts padding, whose powers are 0.
void LiftLpPool(Lift& lift) {
  const std::int64_t p = lift.Take("p", std::int64_t{2});
  if (lift.Take("ceil_mode", std::int64_t{0}) != 0) lift.Reject("ceil_mode is not supported");
  const Ints dilations = lift.Take("dilations", Ints{});
  const bool dilated = std::ranges::any_of(dilations, [](std::int64_t d) { return d != 1; });
  if (dilated) lift.node.attrs["dilations"] = dilations;
  const auto kernel = lift.node.attrs.find("kernel_shape");
  const auto* sides =
      kernel == lift.node.attrs.end() ? nullptr : std::get_if<Ints>(&kernel->second);
  if (sides == nullptr || p < 1) lift.Reject("needs kernel_shape, and p >= 1");
  double window = 1;
  for (const std::int64_t side : *sides) window *= static_cast<double>(side);
  const DType dtype = lift.InputType(0).dtype;
  AttrMap attrs = lift.node.attrs;
  attrs["count_include_pad"] = std::int64_t{1};
  Steps steps(lift);
  const auto power = static_cast<double>(p);
  const std::string size = steps.Add("Abs", {lift.Input(0)}, "size");
  const std::string raised = steps.Add("Pow", {size, steps.Number(power, dtype, "p")}, "raised");
  const std::string mean = steps.Add("AveragePool", {raised}, "mean", std::move(attrs));
  const std::string sum = steps.Add("Mul", {mean, steps.Number(window, dtype, "window")}, "sum");
  steps.End("Pow", {sum, steps.Number(1 / power, dtype, "root")});
}

/// Expands GroupNormalization: InstanceNormalization over groups of channels. Until set 21, scale
/// and bias are those of groups, since then of channels.
void LiftGroupNormalization(Lift& lift) {
  const std::int64_t groups = lift.Take("num_groups", std::int64_t{0});
  const float epsilon = lift.Take("epsilon", 1e-5F);
  (void)lift.Take("stash_type", std::int64_t{1});  // kernels sum f16 in f32, or more
  const std::int64_t rank = RankOf(lift, 0);
  if (groups < 1 || rank < 3) lift.Reject("needs num_groups and an input [N, C, ...]");
  if (lift.node.inputs.size() != 3) lift.Reject("needs an input, a scale and a bias");
  const DType dtype = lift.InputType(0).dtype;
  const std::string x = lift.node.inputs[0];
  std::string scale = lift.node.inputs[1];
  std::string bias = lift.node.inputs[2];
  Steps steps(lift);
  const std::string grouped =
      steps.Add("Reshape", {x, steps.List({0, groups, -1}, "groups")}, "grouped");
  const std::string shape = steps.Add("Shape", {x}, "shape");
  const AttrMap attrs = {{"epsilon", epsilon}};
  if (lift.opset < 21) {
    steps.End("Reshape",
              {steps.Add("InstanceNormalization", {grouped, scale, bias}, "normal", attrs), shape});
    return;
  }
  const auto fill = [&](double value, const char* what) {
    return steps.Add("Expand", {steps.Number(value, dtype, what), steps.List({groups}, what)},
                     what);
  };
  const std::string normal = steps.Add(
      "InstanceNormalization", {grouped, fill(1, "ones"), fill(0, "zeros")}, "normal", attrs);
  const std::string back = steps.Add("Reshape", {normal, shape}, "back");
  Ints axes(static_cast<std::size_t>(rank) - 2);
  std::iota(axes.begin(), axes.end(), 1);
  const std::string places = steps.List(axes, "axes");
  scale = steps.Add("Unsqueeze", {scale, places}, "scale");
  bias = steps.Add("Unsqueeze", {bias, places}, "bias");
  steps.End("Add", {steps.Add("Mul", {back, scale}, "scaled"), bias});
}

void LiftRmsNormalization(Lift& lift) {
  if (lift.node.inputs.size() != 2) lift.Reject("needs an input and a scale");
  RmsNormalization norm{
      .x = lift.Input(0), .type = lift.InputType(0), .scale = lift.Input(1), .inverse = {}};
  norm.axis = lift.Take("axis", norm.axis);
  norm.epsilon = lift.Take("epsilon", norm.epsilon);
  norm.in_f32 = lift.Take("stash_type", kOnnxF32) == kOnnxF32;
  // Only SimplifiedLayerNormalization, ONNX Runtime's older name, has an output more.
  if (lift.IsRead(1)) norm.inverse = lift.node.outputs[1];
  EndRmsNormalization(lift, norm);
}

/// Expands RotaryEmbedding: rotates pairs of the last axis of X, [batch, heads, tokens, depth] or
/// [batch, tokens, heads * depth].
void LiftRotaryEmbedding(Lift& lift) {
  const bool interleaved = lift.Take("interleaved", std::int64_t{0}) != 0;
  const std::int64_t heads = lift.Take("num_heads", std::int64_t{0});
  std::int64_t rotated = lift.Take("rotary_embedding_dim", std::int64_t{0});
  const std::int64_t rank = RankOf(lift, 0);
  if (rank != 4 && (rank != 3 || heads < 1)) {
    lift.Reject("needs an input with four axes, or with three and num_heads");
  }
  Steps steps(lift);
  std::string x = lift.Input(0);
  std::optional<std::int64_t> depth = SizeOf(lift, 0, -1);
  if (rank == 3) {
    x = steps.Add("Reshape", {x, steps.List({0, 0, heads, -1}, "heads")}, "split");
    if (depth) depth = *depth / heads;
  }
  // Of [batch, tokens, depth / 2], one axis more for the heads.
  const std::string head_axis = steps.List({rank == 3 ? 2 : 1}, "head_axis");
  const auto angles = [&](std::size_t index, const char* what) {
    if (!lift.HasInput(index)) lift.Reject("needs cos_cache and sin_cache");
    std::string cache = lift.node.inputs[index];
    if (lift.HasInput(3)) {
      cache = steps.Add("Gather", {cache, lift.node.inputs[3]}, what, {{"axis", std::int64_t{0}}});
    }
    return steps.Add("Unsqueeze", {cache, head_axis}, what);
  };
  const std::string cosine = angles(1, "cos");
  const std::string sine = angles(2, "sin");
  const AttrMap last = {{"axis", std::int64_t{-1}}};
  const auto slice = [&](std::int64_t from, std::int64_t to, std::int64_t step, const char* what) {
    return steps.Add("Slice",
                     {x, steps.List({from}, "from"), steps.List({to}, "to"),
                      steps.List({-1}, "last"), steps.List({step}, "step")},
                     what);
  };
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  if (rotated == depth) rotated = 0;
  std::string rest;
  if (rotated > 0) {
    rest = slice(rotated, kEnd, 1, "rest");
    x = slice(0, rotated, 1, "rotated");
  }
  std::string first;
  std::string second;
  if (interleaved) {
    first = slice(0, kEnd, 2, "even");
    second = slice(1, kEnd, 2, "odd");
  } else {
    const std::vector<std::string> halves = steps.AddSeveral("Split", {x}, "half", 2, last);
    first = halves[0];
    second = halves[1];
  }
  std::string real = steps.Add("Sub",
                               {steps.Add("Mul", {cosine, first}, "cos_first"),
                                steps.Add("Mul", {sine, second}, "sin_second")},
                               "real");
  std::string imaginary = steps.Add("Add",
                                    {steps.Add("Mul", {sine, first}, "sin_first"),
                                     steps.Add("Mul", {cosine, second}, "cos_second")},
                                    "imaginary");
  if (interleaved) {
    const std::string pair = steps.List({-1}, "pair");
    real = steps.Add("Unsqueeze", {real, pair}, "real_pair");
    imaginary = steps.Add("Unsqueeze", {imaginary, pair}, "imaginary_pair");
  }
  std::string turned = steps.Add("Concat", {real, imaginary}, "turned", last);
  if (interleaved) {
    turned = steps.Add("Reshape", {turned, steps.List({0, 0, 0, -1}, "flat")}, "interleaved");
  }
  if (!rest.empty()) turned = steps.Add("Concat", {turned, rest}, "whole", last);
  if (rank == 3) {
    steps.End("Reshape", {turned, steps.List({0, 0, -1}, "joined")});
  } else {
    steps.End("Identity", {turned});
  }
}

/// Converts a batch-first layer (layout 1) of GRU-14, LSTM-14 or RNN-14 by transposing what it
/// reads and makes: X, states before the first step, Y, and states after the last.
void LiftBatchFirst(Lift& lift) {
  const auto layout = lift.node.attrs.find("layout");
  if (layout == lift.node.attrs.end() || layout->second == Attr(std::int64_t{0})) return;
  if (lift.Take("layout", std::int64_t{0}) != 1) lift.Reject("layout must be 0 or 1");
  const auto step = [&](std::string from, std::string to, Ints perm, const char* what) {
    PendingNode turn;
    turn.position = lift.node.position;
    turn.name = lift.node.name + "." + what;
    turn.op = "Transpose";
    turn.inputs = {std::move(from)};
    turn.outputs = {std::move(to)};
    turn.attrs["perm"] = std::move(perm);
    return turn;
  };
  constexpr std::array<std::size_t, 3> kTurned = {0, 5, 6};  // X, initial_h, initial_c
  for (const std::size_t index : kTurned) {
    if (!lift.HasInput(index)) continue;
    std::string turned = lift.NewValue("turned");
    lift.before.push_back(step(lift.node.inputs[index], turned, {1, 0, 2}, "turn"));
    lift.node.inputs[index] = std::move(turned);
  }
  for (std::size_t index = 0; index < lift.node.outputs.size(); ++index) {
    std::string& output = lift.node.outputs[index];
    if (output.empty()) continue;
    std::string inner = lift.NewValue("inner");
    const Ints perm = index == 0 ? Ints{2, 0, 1, 3} : Ints{1, 0, 2};
    lift.after.push_back(step(inner, std::exchange(output, inner), perm, "turn_back"));
  }
}

/// Converts CausalConvWithState: a convolution of each channel over the past and X, of which the
/// last part is the next past.
void LiftCausalConv(Lift& lift) {
  const std::string activation = lift.Take("activation", std::string("none"));
  if (activation != "none" && activation != "silu" && activation != "swish") {
    lift.Reject("activation cannot be '" + activation + "'");
  }
  const auto channels = SizeOf(lift, 1, 0);
  const auto taps = SizeOf(lift, 1, 2);
  if (!channels || !taps || *taps < 1 || RankOf(lift, 1) != 3 || RankOf(lift, 0) != 3) {
    lift.Reject("needs an input [N, C, L] and weights [C, 1, K] of known size");
  }
  const DType dtype = lift.InputType(0).dtype;
  const std::string x = lift.Input(0);
  const std::int64_t past = *taps - 1;
  Steps steps(lift);
  std::string all;
  if (lift.HasInput(3)) {
    all = steps.Add("Concat", {lift.Input(3), x}, "all", {{"axis", std::int64_t{2}}});
  } else {
    all = steps.Add("Pad", {x, steps.List({0, 0, past, 0, 0, 0}, "pads")}, "all");
  }
  if (lift.IsRead(1)) {
    // From an end behind the last position on, there is nothing.
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    const std::string from = steps.List({past == 0 ? kEnd : -past}, "from");
    steps.EndOutput(lift.node.outputs[1], "Slice",
                    {all, from, steps.List({kEnd}, "to"), steps.List({2}, "along")}, "present");
  }
  std::vector<std::string> inputs = {all, lift.Input(1)};
  if (lift.HasInput(2)) inputs.push_back(lift.Input(2));
  const AttrMap attrs = {{"group", *channels}};
  if (activation == "none") {
    steps.End("Conv", std::move(inputs), attrs);
  } else {
    EndSwish(steps, steps.Add("Conv", std::move(inputs), "sum", attrs), dtype, 1.0F);
  }
}

constexpr std::array<LiftRule, 16> kRules = {{
    {"CausalConvWithState", kNoEnd, LiftCausalConv, 27},
    {"GlobalLpPool", kNoEnd, LiftGlobalLpPool},
    {"GRU", kNoEnd, LiftBatchFirst, 14},
    {"LSTM", kNoEnd, LiftBatchFirst, 14},
    {"LpPool", kNoEnd, LiftLpPool},
    {"MeanVarianceNormalization", kNoEnd, LiftMeanVarianceNormalization, 9},
    {"RNN", kNoEnd, LiftBatchFirst, 14},
    {"Gelu", kNoEnd, LiftGelu, 20},
    {"GroupNormalization", kNoEnd, LiftGroupNormalization, 18},
    {"Mish", kNoEnd, LiftMish, 18},
    {"RMSNormalization", kNoEnd, LiftRmsNormalization, 23},
    {"RotaryEmbedding", kNoEnd, LiftRotaryEmbedding, 23},
    {"Shrink", kNoEnd, LiftShrink, 9},
    {"SimplifiedLayerNormalization", kNoEnd, LiftRmsNormalization},
    {"SwiGLU", kNoEnd, LiftSwiGlu, 28},
    {"Swish", kNoEnd, LiftSwish, 24},
}};

}  // namespace

std::array<std::string, 2> GeluFactors(Steps& steps, const std::string& x, DType dtype,
                                       GeluForm form) {
  const auto number = [&](double value, const char* what) {
    return steps.Number(value, dtype, what);
  };
  std::string gate;
  if (form == GeluForm::kExact) {
    gate = steps.Add("Erf", {steps.Add("Div", {x, number(std::numbers::sqrt2, "root")}, "scaled")},
                     "erf");
  } else {
    const std::string cube = steps.Add("Pow", {x, number(3.0, "three")}, "cube");
    const std::string part = steps.Add("Mul", {cube, number(0.044715, "cubic")}, "part");
    const std::string sum = steps.Add("Add", {x, part}, "sum");
    const double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    gate = steps.Add("Tanh", {steps.Add("Mul", {sum, number(root, "root")}, "scaled")}, "tanh");
  }
  const std::string above = steps.Add("Add", {gate, number(1.0, "one")}, "above");
  return {steps.Add("Mul", {x, above}, "product"), number(0.5, "half")};
}

std::string SwishGate(Steps& steps, const std::string& x, DType dtype, float alpha) {
  std::string scaled = x;
  if (alpha != 1.0F) {
    scaled = steps.Add("Mul", {x, steps.Number(alpha, dtype, "alpha")}, "scaled");
  }
  return steps.Add("Sigmoid", {scaled}, "gate");
}

void EndSwish(Steps& steps, const std::string& x, DType dtype, float alpha) {
  steps.End("Mul", {x, SwishGate(steps, x, dtype, alpha)});
}

void EndRmsNormalization(Lift& lift, const RmsNormalization& norm) {
  if (!norm.type.shape) lift.Reject("needs an input whose number of axes is known");
  const auto rank = static_cast<std::int64_t>(norm.type.shape->size());
  const std::int64_t axis = norm.axis < 0 ? norm.axis + rank : norm.axis;
  if (axis < 0 || axis >= rank) lift.Reject("needs an input with this axis");
  Ints axes(static_cast<std::size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  Steps steps(lift);
  std::string x = norm.x;
  const bool widened = norm.in_f32 && IsNarrowFloat(norm.type.dtype);
  if (widened) x = steps.Add("Cast", {x}, "wide", {{"to", kOnnxF32}});
  const DType dtype = widened ? DType::kF32 : norm.type.dtype;
  const std::string mean = steps.Add("ReduceMean", {steps.Add("Mul", {x, x}, "square")}, "mean",
                                     {{"axes", axes}, {"keepdims", std::int64_t{1}}});
  const std::string epsilon = steps.Number(norm.epsilon, dtype, "epsilon");
  const std::string root = steps.Add("Sqrt", {steps.Add("Add", {mean, epsilon}, "sum")}, "root");
  if (!norm.inverse.empty()) steps.EndOutput(norm.inverse, "Reciprocal", {root}, "inverse");
  std::string normal = steps.Add("Div", {x, root}, "normal");
  if (widened) normal = steps.Add("CastLike", {normal, norm.x}, "narrow");
  steps.End("Mul", {normal, norm.scale});
}

std::span<const LiftRule> ComposedLifts() {
  return kRules;
}

}  // namespace msc::detail
