#include "compiler/ops/narrow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

namespace msc {
namespace {

constexpr std::array<NarrowType, 12> kTypes = {{
    {"float8e4m3fn", 17, 19, DType::kF32, NarrowKind::kFloat, 8, 3, 7, NarrowSpecials::kLastIsNan},
    {"float8e4m3fnuz", 18, 19, DType::kF32, NarrowKind::kFloat, 8, 3, 8,
     NarrowSpecials::kMinusZeroNan},
    {"float8e5m2", 19, 19, DType::kF32, NarrowKind::kFloat, 8, 2, 15, NarrowSpecials::kAsIeee},
    {"float8e5m2fnuz", 20, 19, DType::kF32, NarrowKind::kFloat, 8, 2, 16,
     NarrowSpecials::kMinusZeroNan},
    {"uint4", 21, 21, DType::kU8, NarrowKind::kUnsigned, 4},
    {"int4", 22, 21, DType::kI8, NarrowKind::kSigned, 4},
    {"float4e2m1", 23, 23, DType::kF32, NarrowKind::kFloat, 4, 1, 1},
    {"float8e8m0", 24, 24, DType::kF32, NarrowKind::kPowerOfTwo, 8, 0, 127},
    {"uint2", 25, 25, DType::kU8, NarrowKind::kUnsigned, 2},
    {"int2", 26, 25, DType::kI8, NarrowKind::kSigned, 2},
    {"float6e2m3", 27, 28, DType::kF32, NarrowKind::kFloat, 6, 3, 1},
    {"float6e3m2", 28, 28, DType::kF32, NarrowKind::kFloat, 6, 2, 3},
}};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the value of a float's bits without its sign.
double MagnitudeOf(const NarrowType& type, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1U << type.mantissa) - 1U);
  const auto exponent = static_cast<int>(bits >> type.mantissa);
  const std::uint32_t last = (1U << (type.bits - 1)) - 1U;
  if (type.specials == NarrowSpecials::kLastIsNan && bits == last) return kNan;
  if (type.specials == NarrowSpecials::kAsIeee &&
      exponent == static_cast<int>(last >> type.mantissa)) {
    return fraction == 0 ? kInfinity : kNan;
  }
  const auto steps =
      static_cast<double>(exponent == 0 ? fraction : fraction + (1U << type.mantissa));
  return std::ldexp(steps, std::max(exponent, 1) - type.bias - type.mantissa);
}

double FloatValue(const NarrowType& type, std::uint32_t bits) {
  const std::uint32_t sign = 1U << (type.bits - 1);
  if (type.specials == NarrowSpecials::kMinusZeroNan && bits == sign) return kNan;
  const double magnitude = MagnitudeOf(type, bits & (sign - 1U));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

double GreatestOf(const NarrowType& type) {
  std::uint32_t bits = (1U << (type.bits - 1)) - 1U;
  while (!std::isfinite(MagnitudeOf(type, bits))) --bits;
  return MagnitudeOf(type, bits);
}

/// The modes of rounding to a power of two; floats round to nearest, ties to even.
enum class PowerRounding : std::uint8_t { kUp, kDown, kNearest };

/// Converts numbers to one type.
class Narrowing {
 public:
  explicit Narrowing(const Node& node);

  [[nodiscard]] const NarrowType& type() const { return *type_; }
  /// Returns a value of a type of floats.
  [[nodiscard]] double OfFloat(double x) const {
    return type_->kind == NarrowKind::kPowerOfTwo ? PowerOfTwo(x) : Float(x);
  }
  /// Returns the value that the lowest bits have as an integer of this type.
  [[nodiscard]] std::int64_t OfInteger(std::int64_t x) const {
    return static_cast<std::int64_t>(
        NarrowValue(*type_, static_cast<std::uint32_t>(static_cast<std::uint64_t>(x))));
  }

 private:
  [[nodiscard]] double Float(double x) const;
  [[nodiscard]] double PowerOfTwo(double x) const;

  const NarrowType* type_;
  bool saturate_;
  PowerRounding rounding_ = PowerRounding::kUp;
  double greatest_ = 0.0;
};

Narrowing::Narrowing(const Node& node)
    : type_(FindNarrowType(AttrOr(node, "to", std::string()))),
      saturate_(AttrOr(node, "saturate", std::int64_t{1}) != 0) {
  if (type_ == nullptr) {
    RejectNode(node, "attribute 'to' cannot be '" + AttrOr(node, "to", std::string()) + "'");
  }
  const std::string mode = AttrOr(node, "round_mode", std::string("up"));
  if (mode != "up" && mode != "down" && mode != "nearest") {
    RejectNode(node, "attribute 'round_mode' cannot be '" + mode + "'");
  }
  rounding_ = mode == "up"     ? PowerRounding::kUp
              : mode == "down" ? PowerRounding::kDown
                               : PowerRounding::kNearest;
  if (type_->kind == NarrowKind::kFloat) greatest_ = GreatestOf(*type_);
}

double Narrowing::Float(double x) const {
  // Types without NaN have minus zero for it.
  if (std::isnan(x)) return type_->specials == NarrowSpecials::kNone ? -0.0 : x;
  const double magnitude = std::abs(x);
  double rounded = magnitude;
  if (std::isfinite(magnitude) && magnitude > 0.0) {
    const int exponent = std::max(std::ilogb(magnitude), 1 - type_->bias) - type_->mantissa;
    // nearbyint rounds ties to even: no code in this process changes the rounding mode.
    rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, -exponent)), exponent);
  }
  if (rounded > greatest_) {
    const bool stays = saturate_ || type_->specials == NarrowSpecials::kNone;
    rounded = stays ? greatest_ : type_->specials == NarrowSpecials::kAsIeee ? kInfinity : kNan;
  }
  if (rounded == 0.0 && type_->specials == NarrowSpecials::kMinusZeroNan) return 0.0;
  return std::copysign(rounded, x);
}

/// Returns the power of two of a number's magnitude, whose sign is lost.
double Narrowing::PowerOfTwo(double x) const {
  if (!std::isfinite(x)) return kNan;
  const double least = std::ldexp(1.0, -type_->bias);
  const double magnitude = std::abs(x);
  // What f32 has below its normal numbers counts as the least power, or the next where it is
  // rounded up.
  const double normal = std::numeric_limits<float>::min();
  const bool small = magnitude < normal;
  const double below = small ? least : std::ldexp(1.0, std::ilogb(magnitude));
  const double part = small ? magnitude / normal : magnitude / below - 1.0;
  bool up = false;
  if (rounding_ == PowerRounding::kUp) up = part > 0.0;
  // Half of the least power is a tie, and its exponent is even.
  if (rounding_ == PowerRounding::kNearest) up = small ? part > 0.5 : part >= 0.5;
  const double greatest = std::ldexp(1.0, type_->bias);
  if (up && below >= greatest) return saturate_ ? greatest : kNan;
  return up ? below * 2.0 : below;
}

std::vector<ValueType> InferCastNarrow(const InferInput& in) {
  const Narrowing narrowing(*in.node);
  const DType from = TypeOf(in, 0);
  if (from != DType::kUndefined && from != DType::kBool && !IsFloat(from) && !IsInteger(from)) {
    RejectType(*in.node, from);
  }
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = narrowing.type().held;
  return types;
}

/// Truncates toward zero; what i64 cannot hold saturates, and NaN is 0.
std::int64_t Truncated(double x) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(x)) return 0;
  if (x >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (x < -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(x);
}

std::vector<Tensor> EvalCastNarrow(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferCastNarrow, node, inputs);
  const Narrowing narrowing(node);
  const Tensor& x = *inputs[0];
  if (narrowing.type().held == DType::kF32) {
    const auto y = outputs[0].MutableValues<float>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double number = NumberAt(x, static_cast<std::int64_t>(i));
      y[i] = static_cast<float>(narrowing.OfFloat(number));
    }
    return outputs;
  }
  WithNumber(node, outputs[0].dtype(), [&]<class To>() {
    const auto y = outputs[0].template MutableValues<To>();
    if (!IsInteger(x.dtype())) {
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::int64_t number = Truncated(NumberAt(x, static_cast<std::int64_t>(i)));
        y[i] = static_cast<To>(narrowing.OfInteger(number));
      }
      return;
    }
    // A double does not have all bits of a large integer.
    WithInteger(x.dtype(), [&]<class From>() {
      const auto values = x.Values<From>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = static_cast<To>(narrowing.OfInteger(static_cast<std::int64_t>(values[i])));
      }
    });
  });
  return outputs;
}

}  // namespace

std::span<const NarrowType> NarrowTypes() {
  return kTypes;
}

const NarrowType* FindNarrowType(std::int64_t code) {
  const auto at = std::ranges::find(kTypes, code, &NarrowType::code);
  return at == kTypes.end() ? nullptr : &*at;
}

const NarrowType* FindNarrowType(std::string_view name) {
  const auto at = std::ranges::find(kTypes, name, &NarrowType::name);
  return at == kTypes.end() ? nullptr : &*at;
}

const NarrowType* TypeInFile(const Graph& graph, ValueId id) {
  const auto at = graph.metadata().find(std::string(kFileTypeKey) + graph.value(id).name);
  if (at == graph.metadata().end()) return nullptr;
  const NarrowType* type = FindNarrowType(at->second);
  // A pass may have given a value of this name another type.
  return type != nullptr && type->held == graph.type(id).dtype ? type : nullptr;
}

double NarrowValue(const NarrowType& type, std::uint32_t bits) {
  bits &= (1U << type.bits) - 1U;
  switch (type.kind) {
    case NarrowKind::kUnsigned:
      return bits;
    case NarrowKind::kSigned: {
      const auto value = static_cast<std::int64_t>(bits);
      const std::int64_t half = std::int64_t{1} << (type.bits - 1);
      return static_cast<double>(value < half ? value : value - 2 * half);
    }
    case NarrowKind::kFloat:
      return FloatValue(type, bits);
    case NarrowKind::kPowerOfTwo:
      return bits == 0xFF ? kNan : std::ldexp(1.0, static_cast<int>(bits) - type.bias);
  }
  return 0.0;
}

std::optional<double> FirstNotIn(const NarrowType& type, const Tensor& tensor) {
  std::set<double> numbers;
  bool has_nan = false;
  for (std::uint32_t bits = 0; bits < 1U << type.bits; ++bits) {
    const double number = NarrowValue(type, bits);
    if (std::isnan(number)) {
      has_nan = true;
    } else {
      numbers.insert(number);
    }
  }
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double number = NumberAt(tensor, i);
    if (std::isnan(number) ? !has_nan : !numbers.contains(number)) return number;
  }
  return std::nullopt;
}

void RegisterNarrowOps(OpRegistry& ops) {
  ops.Add({.name = "CastNarrow",
           .domain = "msc",
           .inputs = {1, 1},
           .attrs = {{.name = "to", .otherwise = std::string(), .required = true},
                     {.name = "saturate", .otherwise = std::int64_t{1}},
                     {.name = "round_mode", .otherwise = std::string("up")}},
           .infer = InferCastNarrow,
           .eval = EvalCastNarrow,
           .flops = OneFlopEach});
}

}  // namespace msc
