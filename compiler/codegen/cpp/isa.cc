#include "compiler/codegen/cpp/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <utility>

namespace msc {
namespace {

constexpr std::array<std::pair<std::string_view, Isa>, 6> kLevels{{
    {"baseline", {}},
    {"avx2", {.avx2 = true}},
    {"avx512", {.avx2 = true, .avx512 = true}},
    {"avx512_vnni", {.avx2 = true, .avx512 = true, .vnni = true}},
    {"avx512_bf16", {.avx2 = true, .avx512 = true, .bf16 = true}},
    {"avx512_vnni_bf16", {.avx2 = true, .avx512 = true, .vnni = true, .bf16 = true}},
}};

#if defined(__x86_64__)
/// Returns whether the CPU converts between f32 and f16. clang 14 does not know this name in
/// __builtin_cpu_supports.
bool HasF16C() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

}  // namespace

std::string ToString(const Isa& isa) {
  for (const auto& [name, level] : kLevels) {
    if (level == isa) return std::string(name);
  }
  return "none";
}

std::optional<Isa> ParseIsa(std::string_view name) {
  for (const auto& [known, level] : kLevels) {
    if (known == name) return level;
  }
  return std::nullopt;
}

Isa DetectIsa() {
  Isa isa;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // Each level needs all the instruction sets that CompilerOptions turns on for it.
  isa.avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
             __builtin_cpu_supports("bmi2") != 0 && HasF16C();
  isa.avx512 = isa.avx2 && __builtin_cpu_supports("avx512f") != 0 &&
               __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
               __builtin_cpu_supports("avx512vl") != 0;
  isa.vnni = isa.avx512 && __builtin_cpu_supports("avx512vnni") != 0;
  isa.bf16 = isa.avx512 && __builtin_cpu_supports("avx512bf16") != 0;
#endif
  return isa;
}

bool RunsOn(const Isa& isa, const Isa& machine) {
  return (!isa.avx2 || machine.avx2) && (!isa.avx512 || machine.avx512) &&
         (!isa.vnni || machine.vnni) && (!isa.bf16 || machine.bf16);
}

std::vector<std::string> CompilerOptions(const Isa& isa) {
  std::vector<std::string> options;
  if (isa.avx2) options.insert(options.end(), {"-mavx2", "-mfma", "-mbmi2", "-mf16c"});
  if (isa.avx512) {
    options.insert(options.end(), {"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl",
                                   "-mprefer-vector-width=512"});
  }
  if (isa.vnni) options.emplace_back("-mavx512vnni");
  if (isa.bf16) options.emplace_back("-mavx512bf16");
  return options;
}

}  // namespace msc
