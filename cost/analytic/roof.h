#pragma once

#include <string>
#include <string_view>

namespace msc::cost {

/// The highest throughput of some cores in one kind of arithmetic.
struct Peak {
  double per_second = 0;    ///< multiplications and additions count separately
  std::string instruction;  ///< instruction that was timed, such as "AVX-512 FMA"
};

/// Roofline of the machine, measured on registers and on main memory only. A kernel that reaches
/// one of these limits cannot be made faster. Tile instructions (AMX) are not timed, so a library
/// that uses them can exceed the int8 or bf16 peak.
/// Source: Williams, Waterman and Patterson 2009, "Roofline".
struct Roof {
  Peak f32;
  Peak bf16;  ///< the f32 peak if the CPU has no bf16 instruction
  Peak int8;
  /// Bandwidth of a memcpy far larger than the caches; bytes read and bytes written both count.
  double copy_bytes_per_second = 0;
  /// Whether the CPU has no faster instructions than those that were timed. If false, the peaks are
  /// not upper limits.
  bool complete = false;
};

/// Measures the roofline, on `threads` cores at once (>= 1). Takes about half a second.
[[nodiscard]] Roof MeasureRoof(int threads);

/// Returns the peak of the precision that a step multiplies in: "bf16", "int8", or f32 for any
/// other.
[[nodiscard]] const Peak& PeakOf(const Roof& roof, std::string_view precision);

}  // namespace msc::cost
