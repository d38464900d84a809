#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Instruction sets that generated code may use beyond the x86-64 baseline (SSE2). avx512 requires
/// avx2; bf16 and vnni each require avx512.
struct Isa {
  bool avx2 = false;    ///< with FMA, BMI2 and F16C: 16 registers of 32 bytes
  bool avx512 = false;  ///< F, BW, DQ, VL: 32 registers of 64 bytes
  bool vnni = false;    ///< AVX512_VNNI: kDot4 in one instruction
  bool bf16 = false;    ///< AVX512_BF16: kDot2 and casts to bf16 in one instruction
  bool operator==(const Isa&) const = default;

  /// Returns the bytes of the widest vector register: 16, 32 or 64.
  [[nodiscard]] int vector_bytes() const noexcept { return avx512 ? 64 : avx2 ? 32 : 16; }
  [[nodiscard]] int vector_registers() const noexcept { return avx512 ? 32 : 16; }
};

/// Returns "baseline", "avx2", "avx512", "avx512_vnni" or "avx512_vnni_bf16".
[[nodiscard]] std::string ToString(const Isa& isa);
[[nodiscard]] std::optional<Isa> ParseIsa(std::string_view name);

/// Returns the instruction sets of this processor and operating system.
[[nodiscard]] Isa DetectIsa();
/// Returns whether code for `isa` runs on a machine with the instruction sets `machine`.
[[nodiscard]] bool RunsOn(const Isa& isa, const Isa& machine);

/// Returns the options that enable these instructions in GCC and clang.
[[nodiscard]] std::vector<std::string> CompilerOptions(const Isa& isa);

}  // namespace msc
