#pragma once

// Source text of functions of one float. Private to this folder.

#include <string_view>

#include "compiler/kernel/expr.h"

namespace msc {

/// Returns a template msc_<op><F, I>(F) for float and vectors of float; I is int or a vector of as
/// many int. Not for kSqrt. The texts of kTanh and kErf require that of kExp before them, and
/// kSigmoid requires a function reciprocal.
[[nodiscard]] std::string_view MathText(kernel::Op op);
/// Returns the helpers that all of them use: constants, bit casts, conversions.
[[nodiscard]] std::string_view MathToolsText();
/// Returns templates msc_to_half<F, I>(F) and msc_from_half<F, I>(I) between f32 and the bits of a
/// binary16 in the low half of an int.
[[nodiscard]] std::string_view HalfText();

}  // namespace msc
