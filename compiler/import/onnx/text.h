#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msc::detail {

/// Quotes untrusted text for a message: escapes control characters and quotes, cuts after 80 bytes.
[[nodiscard]] std::string QuoteForeign(std::string_view text);

/// Throws UserError, which calls the text `what`, unless `text` is UTF-8 of at most `limit` bytes
/// without NUL.
void CheckForeignText(std::string_view text, std::string_view what, std::uint64_t limit);

}  // namespace msc::detail
