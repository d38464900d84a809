#include "cost/samples/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/with_type.h"

namespace msc::cost {
namespace {

template <class Visit>
void VisitHalves(const Tensor& raw, Visit visit) {
  const auto halves = raw.Values<std::uint16_t>();
  std::vector<float> values(halves.size());
  std::transform(halves.begin(), halves.end(), values.begin(),
                 raw.dtype() == DType::kF16 ? FromF16 : FromBF16);
  visit(std::span<const float>(values));
}

/// Calls `visit` with the numbers, halves as float and bools as u8. Returns false for types that
/// are not real numbers.
template <class Visit>
bool VisitNumbers(const Tensor& raw, Visit visit) {
  const DType dtype = raw.dtype();
  if (dtype == DType::kF32) {
    visit(raw.Values<float>());
  } else if (dtype == DType::kF64) {
    visit(raw.Values<double>());
  } else if (IsFloat(dtype)) {
    VisitHalves(raw, visit);
  } else if (dtype == DType::kBool) {
    visit(raw.Values<std::uint8_t>());
  } else if (IsInteger(dtype)) {
    WithInteger(dtype, [&]<class T>() { visit(raw.Values<T>()); });
  } else {
    return false;
  }
  return true;
}

template <class T>
[[noreturn]] void RejectNumber(T number, DType wanted, const NumberSink& sink) {
  throw UserError("'" + sink.path + "' holds " + std::to_string(number) +
                  ", which the model's input '" + sink.name + "' of " + std::string(Name(wanted)) +
                  " cannot represent");
}

template <class To>
void PutIntegers(const Tensor& raw, const NumberSink& sink, Tensor& out) {
  const auto to = out.MutableValues<To>();
  VisitNumbers(raw, [&](const auto from) {
    using From = typename decltype(from)::value_type;
    if constexpr (std::is_integral_v<From>) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        const bool fits =
            out.dtype() == DType::kBool ? from[i] == 0 || from[i] == 1 : std::in_range<To>(from[i]);
        if (!fits) RejectNumber(from[i], out.dtype(), sink);
        to[i] = static_cast<To>(from[i]);
      }
    }
  });
}

/// Stores floats: `round` converts a number to its stored form, `back` that form to a number.
template <class To, class Round, class Back>
void PutFloats(const Tensor& raw, const NumberSink& sink, Tensor& out, Round round, Back back) {
  const auto to = out.MutableValues<To>();
  VisitNumbers(raw, [&](const auto from) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto value = static_cast<double>(from[i]);
      to[i] = round(value);
      // A finite number that rounds to infinity is beyond the type's range.
      if (std::isfinite(value) && !std::isfinite(back(to[i]))) {
        RejectNumber(value, out.dtype(), sink);
      }
    }
  });
}

void ConvertFloats(const Tensor& raw, const NumberSink& sink, Tensor& out) {
  const auto to_float = [](double x) { return static_cast<float>(x); };
  const auto itself = [](auto x) { return x; };
  switch (out.dtype()) {
    case DType::kF32:
      return PutFloats<float>(raw, sink, out, to_float, itself);
    case DType::kF64:
      return PutFloats<double>(raw, sink, out, itself, itself);
    case DType::kF16:
      return PutFloats<std::uint16_t>(
          raw, sink, out, [&](double x) { return ToF16(to_float(x)); }, FromF16);
    default:
      return PutFloats<std::uint16_t>(
          raw, sink, out, [&](double x) { return ToBF16(to_float(x)); }, FromBF16);
  }
}

void ConvertIntegers(const Tensor& raw, const NumberSink& sink, Tensor& out) {
  if (out.dtype() == DType::kBool) return PutIntegers<std::uint8_t>(raw, sink, out);
  WithInteger(out.dtype(), [&]<class T>() { PutIntegers<T>(raw, sink, out); });
}

bool IsWhole(DType dtype) {
  return IsInteger(dtype) || dtype == DType::kBool;
}

}  // namespace

Tensor ConvertedTo(const Tensor& raw, DType wanted, const NumberSink& sink) {
  if (raw.dtype() == wanted) return raw;
  const bool floats = IsFloat(raw.dtype()) && IsFloat(wanted);
  if (!floats && !(IsWhole(raw.dtype()) && IsWhole(wanted))) {
    throw UserError("'" + sink.path + "' holds " + std::string(Name(raw.dtype())) + sink.noun +
                    "; the model's input '" + sink.name + "' needs " + std::string(Name(wanted)));
  }
  Tensor out(wanted, raw.dims());
  floats ? ConvertFloats(raw, sink, out) : ConvertIntegers(raw, sink, out);
  return out;
}

bool AllFinite(const Tensor& tensor) {
  bool finite = true;
  VisitNumbers(tensor, [&](const auto from) {
    for (const auto value : from) finite = finite && std::isfinite(static_cast<double>(value));
  });
  return finite;
}

std::vector<float> AsFloats(const Tensor& raw, const std::string& path) {
  std::vector<float> floats;
  const bool real = VisitNumbers(raw, [&](const auto from) {
    floats.reserve(from.size());
    for (const auto value : from) floats.push_back(static_cast<float>(value));
  });
  if (!real) {
    throw UserError("'" + path + "' holds " + std::string(Name(raw.dtype())) +
                    " samples; only real numbers are supported");
  }
  return floats;
}

std::vector<std::int64_t> AsIntegers(const Tensor& raw, const std::string& path) {
  std::vector<std::int64_t> integers;
  if (!IsWhole(raw.dtype())) {
    throw UserError("'" + path + "' holds " + std::string(Name(raw.dtype())) +
                    " where integers are needed");
  }
  VisitNumbers(raw, [&](const auto from) {
    using From = typename decltype(from)::value_type;
    integers.reserve(from.size());
    if constexpr (std::is_integral_v<From>) {
      for (const auto value : from) {
        if (!std::in_range<std::int64_t>(value)) {
          throw UserError("'" + path + "' holds " + std::to_string(value) + ", which is too large");
        }
        integers.push_back(static_cast<std::int64_t>(value));
      }
    }
  });
  return integers;
}

}  // namespace msc::cost
