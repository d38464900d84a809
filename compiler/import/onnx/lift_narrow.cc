#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/ops/narrow.h"

// Casts and quantization since set 19: to types that graphs hold in wider ones, of 16 bits, with
// scales of blocks and of other types than f32.

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t CodeOf(DType dtype) {
  return static_cast<std::int64_t>(dtype);  // as in TensorProto.DataType
}

std::string CastTo(Steps& steps, const std::string& x, DType dtype, std::string_view what) {
  return steps.Add("Cast", {x}, what, {{"to", CodeOf(dtype)}});
}

/// What Cast and QuantizeLinear say of rounding to narrow floats.
struct Rounding {
  std::int64_t saturate = 1;
  std::string mode = "up";
};

AttrMap NarrowAttrs(const NarrowType& type, const Rounding& rounding) {
  return {{"to", std::string(type.name)},
          {"saturate", rounding.saturate},
          {"round_mode", rounding.mode}};
}

/// Makes the node a cast of input 0 to a narrow type.
void EndNarrow(Lift& lift, const NarrowType& type, const Rounding& rounding) {
  lift.NoteNarrow(lift.node.outputs, type);
  lift.node.op = "CastNarrow";
  lift.node.domain = "msc";
  lift.node.inputs.resize(1);
  lift.node.attrs = NarrowAttrs(type, rounding);
}

/// Converts Cast and CastLike. Rounding matters only for narrow floats.
void LiftCast(Lift& lift) {
  const Rounding rounding{.saturate = lift.Take("saturate", std::int64_t{1}),
                          .mode = lift.Take("round_mode", std::string("up"))};
  if (lift.node.op == "CastLike") {
    if (const NarrowType* like = lift.NarrowInput(1)) EndNarrow(lift, *like, rounding);
    return;
  }
  const auto to = lift.node.attrs.find("to");
  if (to == lift.node.attrs.end() || !std::holds_alternative<std::int64_t>(to->second)) return;
  const NarrowType* type = FindNarrowType(std::get<std::int64_t>(to->second));
  if (type != nullptr) EndNarrow(lift, *type, rounding);
}

/// Parameters of QuantizeLinear and DequantizeLinear.
struct Quantization {
  std::int64_t axis = 1;
  std::int64_t block = 0;
  std::int64_t output = 0;     ///< element type; 0 if it follows from the inputs
  std::int64_t precision = 0;  ///< element type of the quotient; 0 for that of X
  Rounding rounding = {};
};

Quantization TakeQuantization(Lift& lift) {
  return {.axis = lift.Take("axis", std::int64_t{1}),
          .block = lift.Take("block_size", std::int64_t{0}),
          .output = lift.Take("output_dtype", std::int64_t{0}),
          .precision = lift.Take("precision", std::int64_t{0}),
          .rounding = {.saturate = lift.Take("saturate", std::int64_t{1})}};
}

/// Repeats each entry along the axis for the elements of its block. Only sizes are constants: a
/// list of blocks would take memory for an axis that a file only names.
std::string RepeatBlocks(Lift& lift, Steps& steps, std::size_t index, const Quantization& q,
                         const std::string& what) {
  const auto x = lift.InputType(0).shape;
  const auto of_entries = lift.InputType(index).shape;
  const auto entries = of_entries ? StaticDims(*of_entries) : std::nullopt;
  if (!x || !entries || x->size() != entries->size()) {
    lift.Reject("scales of blocks need known sizes, and as many axes as the input");
  }
  const auto rank = static_cast<std::int64_t>(x->size());
  const std::int64_t axis = q.axis < 0 ? q.axis + rank : q.axis;
  if (axis < 0 || axis >= rank) lift.Reject("its axis does not fit its input");
  const std::int64_t size = (*x)[static_cast<std::size_t>(axis)].size();
  const std::int64_t blocks = (*entries)[static_cast<std::size_t>(axis)];
  if (size < 0) lift.Reject("scales of blocks need an axis of known size");
  constexpr std::int64_t kLongest = std::int64_t{1} << 31;
  if (q.block < 0 || q.block > kLongest || blocks != (size + q.block - 1) / q.block) {
    lift.Reject("has not one scale for each block of " + std::to_string(q.block) +
                " along an axis of " + std::to_string(size));
  }
  const std::string apart = steps.Add(
      "Unsqueeze", {lift.Input(index), steps.List({axis + 1}, what + "_behind")}, what + "_apart");
  Ints repeats(static_cast<std::size_t>(rank) + 1, 1);
  repeats[static_cast<std::size_t>(axis) + 1] = q.block;
  const std::string each =
      steps.Add("Expand", {apart, steps.List(repeats, what + "_repeats")}, what + "_each");
  Ints whole(entries->begin(), entries->end());
  whole[static_cast<std::size_t>(axis)] = blocks * q.block;
  std::string spread =
      steps.Add("Reshape", {each, steps.List(whole, what + "_sizes")}, what + "_spread");
  if (blocks * q.block == size) return spread;
  // The last block is a part of one.
  return steps.Add("Slice",
                   {spread, steps.List({0}, what + "_from"), steps.List({size}, what + "_to"),
                    steps.List({axis}, what + "_along")},
                   what + "_cut");
}

/// Returns input `index`, scales or zero points, so that it stretches to the shape of X.
std::string Spread(Lift& lift, Steps& steps, std::size_t index, const Quantization& q,
                   const std::string& what) {
  if (q.block != 0) return RepeatBlocks(lift, steps, index, q, what);
  const std::string& given = lift.Input(index);
  const auto shape = lift.InputType(index).shape;
  if (!shape) lift.Reject("needs scales whose number of axes is known");
  if (shape->empty() || *shape == Shape{1}) return given;
  const auto x = lift.InputType(0).shape;
  if (!x || shape->size() != 1) lift.Reject("its scales must be a number or a list");
  const auto rank = static_cast<std::int64_t>(x->size());
  const std::int64_t axis = q.axis < 0 ? q.axis + rank : q.axis;
  if (axis < 0 || axis >= rank) lift.Reject("its axis does not fit its input");
  Ints to(static_cast<std::size_t>(rank), 1);
  to[static_cast<std::size_t>(axis)] = -1;
  return steps.Add("Reshape", {given, steps.List(to, what + "_shape")}, what + "_spread");
}

/// The type to which QuantizeLinear quantizes: one of graphs, or a narrow one.
struct Quantized {
  DType held = DType::kU8;
  const NarrowType* narrow = nullptr;
  double least = 0.0;
  double most = 0.0;

  [[nodiscard]] bool IsFloat() const {
    return narrow != nullptr && narrow->kind == NarrowKind::kFloat;
  }
};

Quantized QuantizedOf(const Lift& lift, const Quantization& q) {
  Quantized to{.held = DType::kU8, .narrow = lift.NarrowInput(2)};
  if (to.narrow != nullptr) {
    to.held = to.narrow->held;
  } else if (lift.HasInput(2)) {
    to.held = lift.InputType(2).dtype;
  } else if (q.output != 0) {
    to.narrow = FindNarrowType(q.output);
    const std::optional<DType> held = HeldType(q.output);
    if (!held) lift.Reject("its output_dtype is unknown");
    to.held = *held;
  }
  if (lift.HasInput(2) && q.output != 0) {
    const bool same =
        to.narrow != nullptr ? q.output == to.narrow->code : q.output == CodeOf(to.held);
    if (!same) lift.Reject("its output_dtype is not the type of its zero point");
  }
  const bool is_signed = to.held == DType::kI8 || to.held == DType::kI16;
  const bool wide = to.held == DType::kI16 || to.held == DType::kU16;
  const int bits = to.narrow != nullptr ? to.narrow->bits : wide ? 16 : 8;
  to.least = is_signed ? -static_cast<double>(1 << (bits - 1)) : 0.0;
  to.most = static_cast<double>((1 << (is_signed ? bits - 1 : bits)) - 1);
  const bool supported = to.IsFloat() || to.held == DType::kI8 || to.held == DType::kU8 || wide;
  if (!supported) lift.Reject("cannot quantize to its output_dtype or the type of its zero point");
  return to;
}

/// Returns whether the operator of set 17 takes these scales.
bool TakesScales(const Lift& lift, const Quantization& q) {
  const DType scale = lift.InputType(1).dtype;
  return q.block == 0 && (scale == DType::kF32 || scale == DType::kUndefined);
}

/// Makes the zero point of set 17 for a type that only output_dtype names.
void SetZeroPoint(Lift& lift, DType held) {
  if (lift.HasInput(2) || held == DType::kU8) return;
  const std::array<std::int8_t, 1> zero = {0};
  lift.node.inputs.resize(2);
  lift.SetConstantInput(2, "zero_point", Tensor::From<std::int8_t>(DType::kI8, {}, zero));
}

/// Returns a value whose elements are those of `x` in [least, most].
std::string Clipped(Steps& steps, const std::string& x, DType dtype, const Quantized& to) {
  const std::string least = steps.Number(to.least, dtype, "least");
  return steps.Add("Clip", {x, least, steps.Number(to.most, dtype, "most")}, "clipped");
}

/// Adds the quotients of X and its scales.
std::string Quotients(Lift& lift, Steps& steps, const Quantization& q, DType& dtype) {
  std::string x = lift.Input(0);
  std::string scale = Spread(lift, steps, 1, q, "scale");
  dtype = lift.InputType(0).dtype;
  const DType of_scale = lift.InputType(1).dtype;
  // NumPy divides two types in one that has both.
  DType in = dtype == of_scale ? dtype : DType::kF32;
  if (q.precision != 0) in = HeldType(q.precision).value_or(DType::kUndefined);
  if (dtype != in) x = CastTo(steps, x, in, "x_wide");
  if (of_scale != in) scale = CastTo(steps, scale, in, "scale_wide");
  dtype = in;
  return steps.Add("Div", {x, scale}, "quotient");
}

/// Writes a QuantizeLinear out.
void ComposeQuantize(Lift& lift, const Quantization& q, const Quantized& to) {
  Steps steps(lift);
  DType dtype = DType::kUndefined;
  std::string y = Quotients(lift, steps, q, dtype);
  if (!to.IsFloat()) {
    y = steps.Add("Round", {y}, "rounded");
    // f16 and bf16 do not have every sum with a zero point.
    if (dtype != DType::kF32 && dtype != DType::kF64) {
      y = CastTo(steps, y, DType::kF32, "wide");
      dtype = DType::kF32;
    }
  }
  if (lift.HasInput(2)) {
    const std::string zero = Spread(lift, steps, 2, q, "zero");
    y = steps.Add("Add", {y, CastTo(steps, zero, dtype, "zero_wide")}, "moved");
  }
  if (to.IsFloat()) {
    lift.node.inputs = {y};
    EndNarrow(lift, *to.narrow, q.rounding);
    return;
  }
  if (to.narrow != nullptr) lift.NoteNarrow(lift.node.outputs, *to.narrow);
  steps.End("Cast", {Clipped(steps, y, dtype, to)}, {{"to", CodeOf(to.held)}});
}

void LiftQuantize(Lift& lift) {
  const Quantization q = TakeQuantization(lift);
  const Quantized to = QuantizedOf(lift, q);
  const bool eight = to.held == DType::kI8 || to.held == DType::kU8;
  const DType x = lift.InputType(0).dtype;
  const bool plain_x = x == DType::kF32 || x == DType::kI32 || x == DType::kUndefined;
  const bool plain_precision = q.precision == 0 || q.precision == CodeOf(DType::kF32);
  if (!eight || !plain_x || !plain_precision || !TakesScales(lift, q)) {
    ComposeQuantize(lift, q, to);
    return;
  }
  SetZeroPoint(lift, to.held);
  AttrMap attrs = {{"axis", q.axis}};
  if (to.narrow == nullptr) {
    lift.node.attrs = std::move(attrs);
    return;
  }
  lift.NoteNarrow(lift.node.outputs, *to.narrow);
  Steps steps(lift);
  const std::string y = steps.Add("QuantizeLinear", lift.node.inputs, "held", std::move(attrs));
  const auto bound = [&](double value, const char* what) {
    Tensor tensor(to.held, {});
    tensor.MutableRaw()[0] = static_cast<std::byte>(static_cast<std::int8_t>(value));
    return steps.Constant(std::move(tensor), what);
  };
  const std::string least = bound(to.least, "least");
  steps.End("Clip", {y, least, bound(to.most, "most")});
}

void LiftDequantize(Lift& lift) {
  const Quantization q = TakeQuantization(lift);
  const DType held = lift.InputType(0).dtype;
  const DType scale = lift.InputType(1).dtype;
  const DType to = q.output == 0 ? scale : HeldType(q.output).value_or(DType::kUndefined);
  if (to == DType::kUndefined && q.output != 0) lift.Reject("its output_dtype is unknown");
  const bool plain_x =
      held == DType::kI8 || held == DType::kU8 || held == DType::kI32 || held == DType::kUndefined;
  if (plain_x && TakesScales(lift, q) && (to == DType::kF32 || to == DType::kUndefined)) {
    lift.node.attrs["axis"] = q.axis;
    return;
  }
  Steps steps(lift);
  // f32 has the differences of all types of 16 bits and less.
  const DType wide = scale == DType::kF64 ? DType::kF64 : DType::kF32;
  std::string y = CastTo(steps, lift.Input(0), wide, "wide");
  if (lift.HasInput(2)) {
    const std::string zero = Spread(lift, steps, 2, q, "zero");
    y = steps.Add("Sub", {y, CastTo(steps, zero, wide, "zero_wide")}, "moved");
  }
  const std::string scales = CastTo(steps, Spread(lift, steps, 1, q, "scale"), wide, "scale_wide");
  if (to == wide) {
    steps.End("Mul", {y, scales});
    return;
  }
  steps.End("Cast", {steps.Add("Mul", {y, scales}, "product")}, {{"to", CodeOf(to)}});
}

constexpr std::array<LiftRule, 4> kRules = {{
    {"Cast", kNoEnd, LiftCast},
    {"CastLike", kNoEnd, LiftCast},
    {"DequantizeLinear", kNoEnd, LiftDequantize, 19},
    {"QuantizeLinear", kNoEnd, LiftQuantize, 19},
}};

}  // namespace

std::span<const LiftRule> NarrowLifts() {
  return kRules;
}

}  // namespace msc::detail
