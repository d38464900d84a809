#pragma once

#include <string>
#include <string_view>

namespace msc::cost {

/// The most that some cores do in one kind of arithmetic.
struct Peak {
  double per_second = 0;    ///< multiplications and additions, counted apart
  std::string instruction;  ///< "AVX-512 FMA": what was run to find out
};

/// Limits of the machine, measured here on registers and main memory alone. A kernel that runs at
/// one of them cannot be made faster. Tile instructions (AMX) are not tried: where a library uses
/// them it comes out above the int8 or bf16 peak.
/// Source: Williams, Waterman and Patterson 2009, "Roofline".
struct Roof {
  Peak f32;
  Peak bf16;  ///< that of f32 where the CPU has no instruction for it
  Peak int8;
  double copy_bytes_per_second = 0;  ///< of a memcpy far larger than the caches: read and written
  /// Whether the CPU has no faster instructions than those that were tried. If not, the peaks are
  /// no upper limits.
  bool complete = false;
};

/// Takes about half a second on `threads` cores at once. >= 1.
[[nodiscard]] Roof MeasureRoof(int threads);

/// The peak for what a step says it multiplies in: "bf16", "int8", else f32.
[[nodiscard]] const Peak& PeakOf(const Roof& roof, std::string_view precision);

}  // namespace msc::cost
