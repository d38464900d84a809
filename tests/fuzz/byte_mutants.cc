#include "tests/fuzz/byte_mutants.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "compiler/base/rng.h"

namespace msc::fuzz {
namespace {

/// Lengths and numbers at the limits of protobuf's variable-length integers.
constexpr std::array<unsigned char, 10> kStrange = {0x00, 0x01, 0x7F, 0x80, 0xFF,
                                                    0xFE, 0x0A, 0x12, 0x40, 0x55};

void Change(std::string& bytes, Rng& rng) {
  const auto size = static_cast<std::uint64_t>(bytes.size());
  if (size == 0) return;
  const auto at = static_cast<std::size_t>(rng.Below(size));
  const auto length =
      static_cast<std::size_t>(std::min<std::uint64_t>(1 + rng.Below(16), size - at));
  switch (rng.Below(7)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.Below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(kStrange[rng.Below(kStrange.size())]);
      break;
    case 2:
      bytes[at] = static_cast<char>(bytes[at] + (rng.Below(2) == 0 ? 1 : -1));
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(at, bytes.substr(at, length));
      break;
    case 5:
      bytes.replace(at, length, bytes.substr(static_cast<std::size_t>(rng.Below(size)), length));
      break;
    default:
      if (rng.Below(8) == 0) bytes.resize(at);
      break;
  }
}

}  // namespace

std::string ByteMutant(std::string_view bytes, std::uint64_t seed) {
  Rng rng(seed);
  std::string mutant(bytes);
  const std::uint64_t changes = 1 + (rng.Below(2) == 0 ? 0 : rng.Below(8));
  for (std::uint64_t i = 0; i < changes; ++i) Change(mutant, rng);
  return mutant;
}

}  // namespace msc::fuzz
