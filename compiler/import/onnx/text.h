#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msc::detail {

/// 'text' for a message: control characters and quotes escaped, cut after 80 bytes.
[[nodiscard]] std::string QuoteForeign(std::string_view text);

/// Throws UserError unless `text` is UTF-8 of at most `limit` bytes without NUL. `what` names it.
void CheckForeignText(std::string_view text, std::string_view what, std::uint64_t limit);

}  // namespace msc::detail
