#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msc::fuzz {

/// Returns the content of a file with one to eight of its bytes or stretches of bytes changed,
/// lost, doubled or moved: what a broken disk or an attacker makes of it. Mostly not well-formed.
/// The same seed gives the same mutant.
[[nodiscard]] std::string ByteMutant(std::string_view bytes, std::uint64_t seed);

}  // namespace msc::fuzz
