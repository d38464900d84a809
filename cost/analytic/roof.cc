#include "cost/analytic/roof.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "compiler/runtime/threads.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define MSC_X86 1
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace msc::cost {
namespace {

// Number of independent sums: enough to hide the latency of an instruction on two ports, few enough
// to stay in registers.
constexpr int kSums = 12;

// Runs the given number of rounds and returns a value that depends on all of them, so that the
// compiler keeps them.
using Kernel = float (*)(std::int64_t);

/// A kernel and the operations (multiplications and additions) of one of its rounds.
struct PeakKernel {
  const char* instruction;
  Kernel kernel;
  double operations;
};

float PlainLoop(std::int64_t rounds) {
  float sums[kSums] = {};  // NOLINT(modernize-avoid-c-arrays): registers
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (float& sum : sums) sum = sum * 0.999F + 0.001F;
  }
  float all = 0;
  for (const float sum : sums) all += sum;
  return all;
}

constexpr PeakKernel kPlain = {"scalar multiply and add", PlainLoop, 2.0 * kSums};

#ifdef MSC_X86

// NOLINTBEGIN(modernize-avoid-c-arrays): registers
// The compiler may use an instruction set only in functions that declare it, so each kind of
// register and instruction has its own function. The f32 sums converge to 1: no operand ever
// becomes infinite or subnormal, which would take longer.
#define MSC_SUM_KERNEL(NAME, TARGET, REGISTER, ZERO, OPERAND, STEP, LAST) \
  __attribute__((target(TARGET))) float NAME(std::int64_t rounds) {       \
    REGISTER sums[kSums];                                                 \
    for (auto& sum : sums) sum = ZERO;                                    \
    const auto operand = OPERAND;                                         \
    for (std::int64_t i = 0; i < rounds; ++i) {                           \
      _Pragma("GCC unroll 12") for (auto& sum : sums) {                   \
        sum = STEP;                                                       \
      }                                                                   \
    }                                                                     \
    float all = 0;                                                        \
    for (const auto& sum : sums) all += (LAST);                           \
    return all;                                                           \
  }

MSC_SUM_KERNEL(F32Avx512, "avx512f", __m512, _mm512_setzero_ps(), _mm512_set1_ps(0.5F),
               _mm512_fmadd_ps(sum, operand, operand), _mm512_cvtss_f32(sum))
MSC_SUM_KERNEL(F32Avx2, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_set1_ps(0.5F),
               _mm256_fmadd_ps(sum, operand, operand), _mm256_cvtss_f32(sum))
MSC_SUM_KERNEL(F32Sse2, "sse2", __m128, _mm_setzero_ps(), _mm_set1_ps(0.5F),
               _mm_add_ps(_mm_mul_ps(sum, operand), operand), _mm_cvtss_f32(sum))
// Without VNNI, a dot product takes three instructions. The xor makes the first two depend on the
// sum; otherwise the compiler would hoist them out of the loop.
MSC_SUM_KERNEL(Int8Avx2, "avx2", __m256i, _mm256_setzero_si256(), _mm256_set1_epi8(3),
               _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(
                                                           _mm256_xor_si256(sum, operand), operand),
                                                       _mm256_set1_epi16(1))),
               static_cast<float>(_mm256_cvtsi256_si32(sum)))
#undef MSC_SUM_KERNEL
// NOLINTEND(modernize-avoid-c-arrays)

// Dot products, which accumulate in a register. They are in assembly because GCC 12 translates the
// intrinsics to code that copies the accumulator in every step, which takes longer than the
// product. All registers are zero, so no value takes longer than another.
// clang-format off
#define MSC_ZERO(R, ...) "vxorps %%xmm" #R ",%%xmm" #R ",%%xmm" #R "\n"
#define MSC_DOT(R, ...) __VA_ARGS__ #R "\n"
#define MSC_EACH(LINE, ...)                                                                       \
  LINE(0, __VA_ARGS__) LINE(1, __VA_ARGS__) LINE(2, __VA_ARGS__) LINE(3, __VA_ARGS__)             \
  LINE(4, __VA_ARGS__) LINE(5, __VA_ARGS__) LINE(6, __VA_ARGS__) LINE(7, __VA_ARGS__)             \
  LINE(8, __VA_ARGS__) LINE(9, __VA_ARGS__) LINE(10, __VA_ARGS__) LINE(11, __VA_ARGS__)
#define MSC_DOT_KERNEL(NAME, INSTRUCTION, KIND)                                                   \
  float NAME(std::int64_t rounds) {                                                               \
    static_assert(kSums == 12, "as many dot products a round");                                   \
    asm volatile(MSC_EACH(MSC_ZERO) MSC_ZERO(15, )                                                \
                 "1:\n" MSC_EACH(MSC_DOT, INSTRUCTION " %%" KIND "15,%%" KIND "15,%%" KIND)       \
                 "dec %0\n"                                                                       \
                 "jnz 1b\n"                                                                       \
                 "vzeroupper\n"                                                                   \
                 : "+r"(rounds)                                                                   \
                 :                                                                                \
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",\
                   "xmm10", "xmm11", "xmm15", "cc");                                              \
    return 0;                                                                                     \
  }
// clang-format on
MSC_DOT_KERNEL(Bf16Avx512, "vdpbf16ps", "zmm")
MSC_DOT_KERNEL(Int8Avx512, "vpdpbusd", "zmm")
MSC_DOT_KERNEL(Int8AvxVnni, "%{vex%} vpdpbusd", "ymm")
#undef MSC_DOT_KERNEL
#undef MSC_EACH
#undef MSC_DOT
#undef MSC_ZERO

/// Returns whether the CPU has tile instructions: bits 22 (bf16), 24 (AMX itself) and 25 (int8) of
/// EDX of CPUID leaf 7, subleaf 0.
bool HasAmx() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  constexpr unsigned int kAmx = 1U << 22U | 1U << 24U | 1U << 25U;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAmx) != 0;
}

/// Returns a bit of EAX of CPUID leaf 7, subleaf 1 (Intel SDM volume 2A). Clang 14 does not know
/// the names of these features in __builtin_cpu_supports.
bool HasFeature71(unsigned int bit) {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> bit & 1U) != 0;
}
bool HasAvx512Bf16() {
  return HasFeature71(5) && __builtin_cpu_supports("avx512f");
}
bool HasAvxVnni() {
  return HasFeature71(4) && __builtin_cpu_supports("avx2");
}

PeakKernel F32Kernel() {
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512 FMA", F32Avx512, 2.0 * 16 * kSums};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {"AVX2 FMA", F32Avx2, 2.0 * 8 * kSums};
  }
  return {"SSE2 multiply and add", F32Sse2, 2.0 * 4 * kSums};
}

PeakKernel Bf16Kernel() {
  if (HasAvx512Bf16()) {
    return {"AVX-512 BF16", Bf16Avx512, 2.0 * 32 * kSums};
  }
  return F32Kernel();
}

PeakKernel Int8Kernel() {
  if (__builtin_cpu_supports("avx512vnni")) {
    return {"AVX-512 VNNI", Int8Avx512, 2.0 * 64 * kSums};
  }
  if (HasAvxVnni()) return {"AVX-VNNI", Int8AvxVnni, 2.0 * 32 * kSums};
  if (__builtin_cpu_supports("avx2")) {
    return {"AVX2 multiply and add of bytes", Int8Avx2, 2.0 * 32 * kSums};
  }
  return F32Kernel();
}

/// Returns whether the kernels above use the fastest instructions of this CPU. They do not with
/// AMX, without AVX2 and FMA, and with AVX-512BW without VNNI, which multiplies bytes in wider
/// registers than Int8Kernel.
bool TriesAll() {
  const bool vnni = __builtin_cpu_supports("avx512vnni") || HasAvxVnni();
  return !HasAmx() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         (vnni || !__builtin_cpu_supports("avx512bw"));
}

#else

bool TriesAll() {
  return false;
}

PeakKernel F32Kernel() {
  return kPlain;
}
PeakKernel Bf16Kernel() {
  return kPlain;
}
PeakKernel Int8Kernel() {
  return kPlain;
}

#endif

double SecondsOf(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr int kRepeats = 7;  // of a copy
// A run takes about a millisecond. Many runs make it likely that the fastest one met no other load.
constexpr int kPeakRepeats = 40;

Peak Measure(const PeakKernel& candidate, int threads) {
  constexpr std::int64_t kRounds = 400'000;
  volatile float sink = candidate.kernel(kRounds);  // raises the clock before timing
  // A disturbance can only slow a run down, so the fastest run is the nearest to the peak.
  double least = 1e30;
  for (int i = 0; i < kPeakRepeats; ++i) {
    least = std::min(least, SecondsOf([&] {
                       ParallelFor(threads, threads, [&](std::int64_t begin, std::int64_t end) {
                         for (; begin < end; ++begin) sink = candidate.kernel(kRounds);
                       });
                     }));
  }
  const double operations = candidate.operations * static_cast<double>(kRounds) * threads;
  return {.per_second = operations / least, .instruction = candidate.instruction};
}

double MeasureCopy(int threads) {
  constexpr std::size_t kBytes = std::size_t{64} << 20U;  // per thread
  const std::size_t all = kBytes * static_cast<std::size_t>(threads);
  std::vector<char> from(all, 1);
  std::vector<char> to(all, 2);
  double least = 1e30;
  for (int i = 0; i < kRepeats; ++i) {
    least = std::min(least, SecondsOf([&] {
                       ParallelFor(threads, threads, [&](std::int64_t begin, std::int64_t end) {
                         const std::size_t first = static_cast<std::size_t>(begin) * kBytes;
                         const std::size_t count = static_cast<std::size_t>(end - begin) * kBytes;
                         std::memcpy(to.data() + first, from.data() + first, count);
                       });
                     }));
  }
  // Each byte is read once and written once.
  return 2.0 * static_cast<double>(all) / least;
}

}  // namespace

Roof MeasureRoof(int threads) {
  return {.f32 = Measure(F32Kernel(), threads),
          .bf16 = Measure(Bf16Kernel(), threads),
          .int8 = Measure(Int8Kernel(), threads),
          .copy_bytes_per_second = MeasureCopy(threads),
          .complete = TriesAll()};
}

const Peak& PeakOf(const Roof& roof, std::string_view precision) {
  if (precision == "bf16") return roof.bf16;
  return precision == "int8" ? roof.int8 : roof.f32;
}

}  // namespace msc::cost
