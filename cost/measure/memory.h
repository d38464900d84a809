#pragma once

#include <cstdint>
#include <string>

namespace msc::cost {

/// Bytes of memory that this process and its children may use together: what the machine has, or
/// less where a control group it is in (version 1 or 2) or one above that has a limit. Reads /proc
/// and /sys below `root`; 0 where they do not tell.
[[nodiscard]] std::int64_t UsableMemory(const std::string& root = "");

/// What one of `workers` that measure at a time may use: four fifths of UsableMemory in equal
/// parts, whole megabytes; 0 where that is not known.
[[nodiscard]] std::int64_t MemoryShareMb(std::int64_t workers, const std::string& root = "");

/// How many processes the kernel has killed so far because memory ran out, in the control group of
/// this process where that counts them, else on the machine; 0 where nothing tells. A number to
/// compare with another one taken later.
[[nodiscard]] std::int64_t MemoryKills(const std::string& root = "");

}  // namespace msc::cost
