#pragma once

// Private to this folder: functions of one float, as text.

#include <string_view>

#include "compiler/kernel/expr.h"

namespace msc {

/// A template msc_<op><F, I>(F) over float and vectors of it, I being int or as many of them. kSqrt
/// has none. exp first where another calls it, and reciprocal for sigmoid.
[[nodiscard]] std::string_view MathText(kernel::Op op);
/// What all of them use: constants, bit casts, conversions.
[[nodiscard]] std::string_view MathToolsText();

}  // namespace msc
