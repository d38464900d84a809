#pragma once

#include <cstdint>
#include <string>

namespace msc::cost {

/// Returns how many bytes of memory this process and its children may use together: the machine's
/// memory, or the lowest limit of its control groups (version 1 or 2, including parents) if that is
/// less. Reads /proc and /sys below `root`; returns 0 if they do not say.
[[nodiscard]] std::int64_t UsableMemory(const std::string& root = "");

/// Returns the share in MiB of one of `workers` that measure at a time: an equal part of four
/// fifths of UsableMemory, at least 1; 0 if that is unknown.
[[nodiscard]] std::int64_t MemoryShareMb(std::int64_t workers, const std::string& root = "");

/// Returns how many processes the kernel has killed so far because memory ran out: in the control
/// group of this process if the kernel counts them there, else on the machine; 0 if unknown. Only
/// differences of two calls are meaningful.
[[nodiscard]] std::int64_t MemoryKills(const std::string& root = "");

}  // namespace msc::cost
