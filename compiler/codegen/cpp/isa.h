#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Instructions that generated code may use, above what every x86-64 has (SSE2). Each needs the one
/// before it, `bf16` and `vnni` each need `avx512`.
struct Isa {
  bool avx2 = false;    ///< with FMA: 16 registers of 32 bytes
  bool avx512 = false;  ///< F, BW, DQ, VL: 32 registers of 64 bytes
  bool vnni = false;    ///< AVX512_VNNI: kDot4 in one instruction
  bool bf16 = false;    ///< AVX512_BF16: kDot2 and casts to bf16 likewise
  bool operator==(const Isa&) const = default;

  /// Bytes of the widest vector register: 16, 32 or 64.
  [[nodiscard]] int vector_bytes() const noexcept { return avx512 ? 64 : avx2 ? 32 : 16; }
  [[nodiscard]] int vector_registers() const noexcept { return avx512 ? 32 : 16; }
};

/// "baseline", "avx2", "avx512", "avx512_vnni", "avx512_vnni_bf16".
[[nodiscard]] std::string ToString(const Isa& isa);
[[nodiscard]] std::optional<Isa> ParseIsa(std::string_view name);

/// What this processor and this system can run.
[[nodiscard]] Isa DetectIsa();
/// Whether code for `isa` runs where `machine` is what there is.
[[nodiscard]] bool Runs(const Isa& isa, const Isa& machine);

/// Options by which GCC and clang are allowed these instructions.
[[nodiscard]] std::vector<std::string> CompilerOptions(const Isa& isa);

}  // namespace msc
