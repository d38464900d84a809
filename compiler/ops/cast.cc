#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Source: ONNX operator pages Cast-13, CastLike-15.

namespace msc {
namespace {

bool CanCast(DType dtype) {
  return dtype != DType::kC64 && dtype != DType::kC128;
}

std::vector<ValueType> InferCast(const InferInput& in) {
  const std::int64_t code = AttrOr(*in.node, "to", std::int64_t{0});
  // Enumerators of DType equal the numbers of TensorProto.DataType.
  if (code < 1 || code > static_cast<std::int64_t>(DType::kBF16)) {
    RejectNode(*in.node, "cannot cast to type code " + std::to_string(code));
  }
  const auto to = static_cast<DType>(code);
  for (const DType dtype : {TypeOf(in, 0), to}) {
    if (!CanCast(dtype)) {
      RejectNode(*in.node, "casts of type " + std::string(Name(dtype)) + " are not supported");
    }
  }
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = to;
  return types;
}

/// Converts a number: floats are truncated toward zero and saturated (NaN gives 0); integers keep
/// their low bits.
template <class To, class From>
To Convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // C++ leaves the conversion undefined if the integer type lacks the truncated value.
    if (std::isnan(x)) return 0;
    // As a From, the upper limit of To may round up to a value beyond To, hence >=.
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
  }
  return static_cast<To>(x);
}

DType Computed(DType dtype) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return DType::kF32;
  return dtype;
}

Tensor CastTo(const Node& node, const Tensor& x, DType to) {
  Tensor y(to, x.dims());
  const DType from = x.dtype() == DType::kBool ? DType::kU8 : x.dtype();
  WithNumber(node, from, [&]<class From>() {
    const auto values = x.Values<From>();
    if (to == DType::kBool) {
      const auto out = y.MutableValues<std::uint8_t>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[i] != From{0} ? 1 : 0;
      return;
    }
    WithNumber(node, to, [&]<class To>() {
      const auto out = y.template MutableValues<To>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = Convert<To>(values[i]);
    });
  });
  return y;
}

/// Returns the shortest digits that read as `x` again; numbers that are not finite as ONNX writes
/// them.
template <class T>
std::string TextOf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x > 0 ? "INF" : "-INF";
  }
  std::array<char, 64> text{};
  const auto end = [&] {
    if constexpr (std::is_floating_point_v<T>) {
      const T size = std::abs(x);
      const bool plain = x == 0 || (size >= T(1e-4) && size < T(1e16));
      return std::to_chars(text.data(), text.data() + text.size(), x,
                           plain ? std::chars_format::fixed : std::chars_format::scientific);
    } else {
      return std::to_chars(text.data(), text.data() + text.size(), x);
    }
  }();
  return {text.data(), end.ptr};
}

Tensor ToStrings(const Node& node, const Tensor& x) {
  Tensor y(DType::kString, x.dims());
  const DType from = x.dtype() == DType::kBool ? DType::kU8 : x.dtype();
  WithNumber(node, from, [&]<class From>() {
    const auto values = x.Values<From>();
    for (std::size_t i = 0; i < values.size(); ++i) y.mutable_strings()[i] = TextOf(values[i]);
  });
  return y;
}

template <class T>
T NumberIn(const Node& node, const std::string& text) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  while (begin != end && *begin == ' ') ++begin;
  if (begin != end && *begin == '+') ++begin;
  T number{};
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end) {
    RejectNode(node, "cannot read '" + text.substr(0, 40) + "' as a number of its type");
  }
  return number;
}

Tensor FromStrings(const Node& node, const Tensor& x, DType to) {
  if (to == DType::kBool) RejectNode(node, "casts of strings to bool are not supported");
  Tensor y(to, x.dims());
  WithNumber(node, to, [&]<class To>() {
    const auto out = y.MutableValues<To>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = NumberIn<To>(node, x.strings()[i]);
  });
  return y;
}

std::vector<Tensor> EvalCast(const Node& node, EvalInputs inputs) {
  const DType to = InferFor(InferCast, node, inputs).front().dtype;
  const Tensor& x = *inputs[0];
  if (x.dtype() == to) return {x};
  // f16 and bf16 have no C++ type here, so casts from and to them go through f32.
  const bool half = Computed(x.dtype()) != x.dtype();
  if (to == DType::kString) return {ToStrings(node, half ? ToF32(x) : x)};
  if (x.dtype() == DType::kString) {
    const Tensor read = FromStrings(node, x, Computed(to));
    return {Computed(to) == to ? read : FromF32(read, to)};
  }
  const Tensor wide = half ? ToF32(x) : CastTo(node, x, Computed(to));
  const Tensor y = half ? CastTo(node, wide, Computed(to)) : wide;
  return {Computed(to) == to ? y : FromF32(y, to)};
}

/// Infers CastLike-15: the output has the type of input 1.
std::vector<ValueType> InferCastLike(const InferInput& in) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!CanCast(TypeOf(in, i))) {
      RejectNode(*in.node,
                 "casts of type " + std::string(Name(TypeOf(in, i))) + " are not supported");
    }
  }
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = TypeOf(in, 1);
  return types;
}

std::vector<Tensor> EvalCastLike(const Node& node, EvalInputs inputs) {
  (void)InferFor(InferCastLike, node, inputs);
  Node cast = node;
  cast.attrs = {{"to", static_cast<std::int64_t>(inputs[1]->dtype())}};
  return EvalCast(cast, inputs.subspan(0, 1));
}

}  // namespace

void RegisterCastOps(OpRegistry& ops) {
  ops.Add({.name = "CastLike", .inputs = {2, 2}, .infer = InferCastLike, .eval = EvalCastLike});
  ops.Add({.name = "Cast",
           .inputs = {1, 1},
           .attrs = {{.name = "to", .otherwise = std::int64_t{0}, .required = true}},
           .infer = InferCast,
           .eval = EvalCast});
}

}  // namespace msc
