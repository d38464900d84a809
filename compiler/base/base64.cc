#include "compiler/base/base64.h"

#include <cstdint>

namespace msc {

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  // 3 bytes are 4 letters.
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    // One byte that is left gives 2 letters, two bytes give 3; padding fills the group.
    const std::size_t letters = i + 3 <= bytes.size() ? 4 : bytes.size() - i + 1;
    for (std::size_t k = 0; k < 4; ++k) {
      out += k < letters ? kLetters[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return out;
}

}  // namespace msc
