#include "compiler/import/onnx/text.h"

#include <array>
#include <cstddef>

#include "compiler/base/error.h"

namespace msc::detail {
namespace {

constexpr std::size_t kQuotedBytes = 80;

/// Returns the length of the UTF-8 sequence at `at`, or 0 if it is invalid (RFC 3629: shortest
/// form, no surrogates, at most U+10FFFF).
std::size_t SequenceLength(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at);
  if (first < 0x80U) return 1;
  struct Row {
    unsigned least, most, second_least, second_most;
    std::size_t length;
  };
  static constexpr std::array<Row, 8> kRows = {{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                                {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                                {0xE1, 0xEC, 0x80, 0xBF, 3},
                                                {0xED, 0xED, 0x80, 0x9F, 3},
                                                {0xEE, 0xEF, 0x80, 0xBF, 3},
                                                {0xF0, 0xF0, 0x90, 0xBF, 4},
                                                {0xF1, 0xF3, 0x80, 0xBF, 4},
                                                {0xF4, 0xF4, 0x80, 0x8F, 4}}};
  for (const Row& row : kRows) {
    if (first < row.least || first > row.most) continue;
    if (byte(at + 1) < row.second_least || byte(at + 1) > row.second_most) return 0;
    for (std::size_t i = 2; i < row.length; ++i) {
      if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
    }
    return row.length;
  }
  return 0;
}

std::string Hex(unsigned char byte) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("\\x") + kDigits[byte >> 4U] + kDigits[byte & 15U];
}

}  // namespace

std::string QuoteForeign(std::string_view text) {
  std::string quoted = "'";
  std::size_t at = 0;
  while (at < text.size() && quoted.size() < kQuotedBytes) {
    const std::size_t length = SequenceLength(text, at);
    const auto first = static_cast<unsigned char>(text[at]);
    if (length == 0 || first < 0x20U || first == 0x7FU || first == '\'' || first == '\\') {
      quoted += Hex(first);
      ++at;
    } else {
      quoted += text.substr(at, length);
      at += length;
    }
  }
  return quoted + (at < text.size() ? "...'" : "'");
}

void CheckForeignText(std::string_view text, std::string_view what, std::uint64_t limit) {
  if (text.size() > limit) {
    throw UserError(std::string(what) + " " + QuoteForeign(text) + " has " +
                    std::to_string(text.size()) + " bytes; at most " + std::to_string(limit) +
                    " are read");
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = SequenceLength(text, at);
    if (length == 0 || text[at] == '\0') {
      throw UserError(std::string(what) + " " + QuoteForeign(text) + " is not valid UTF-8 text");
    }
    at += length;
  }
}

}  // namespace msc::detail
