#pragma once

#include <string>

namespace msc {

/// Returns what std::printf would print.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string Formatted(const char* format, ...);

}  // namespace msc
