#pragma once

#include <string>
#include <string_view>

namespace msc {

/// Returns the Base64 form of bytes (RFC 4648, section 4).
[[nodiscard]] std::string Base64(std::string_view bytes);

}  // namespace msc
