#include "compiler/targets/blas/xsmm.h"

#include <array>
#include <string>

#include <libxsmm.h>

#include "compiler/base/error.h"
#include "compiler/runtime/threads.h"

namespace msc::blas {
namespace {

// Tile of C, and the part of k that is summed at once: the part of B stays in the first two caches.
// libxsmm is column-major, so our n is its m.
// 256 x 64 entries of B are 64 KiB, a tile of C 8 KiB.
constexpr std::int64_t kRows = 32;
constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kDepth = 256;

using Kernel = libxsmm_smmfunction;

Kernel Dispatch(const kernel::Sgemm& p, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                float beta) {
  const auto lda = static_cast<libxsmm_blasint>(p.ldb);
  const auto ldb = static_cast<libxsmm_blasint>(p.lda);
  const auto ldc = static_cast<libxsmm_blasint>(p.ldc);
  const float alpha = 1.0F;
  const int flags = LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_PREFETCH_NONE;
  return libxsmm_smmdispatch(
      static_cast<libxsmm_blasint>(columns), static_cast<libxsmm_blasint>(rows),
      static_cast<libxsmm_blasint>(depth), &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
}

/// The libxsmm kernels of one product: for whole tiles and for partial tiles at the ends, each for
/// the first part of k, which overwrites C, and for later parts, which add to it.
class Kernels {
 public:
  explicit Kernels(const kernel::Sgemm& p) : p_(p) {
    // Bits of an index: 1 for the last rows, 2 for the last columns, 4 for the last part of k, 8
    // for every part of k but the first.
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const std::int64_t rows = Side(p.m, kRows, (i & 1U) != 0);
      const std::int64_t columns = Side(p.n, kColumns, (i & 2U) != 0);
      const std::int64_t depth = Side(p.k, kDepth, (i & 4U) != 0);
      if (rows == 0 || columns == 0 || depth == 0) continue;
      made_.at(i) = Dispatch(p, rows, columns, depth, (i & 8U) != 0 ? 1.0F : 0.0F);
      Check(made_.at(i) != nullptr, "libxsmm makes every kernel once it makes one");
    }
  }

  void Tile(const float* a, const float* b, float* c, std::int64_t row, std::int64_t column) const {
    for (std::int64_t k = 0; k < p_.k; k += kDepth) {
      const std::size_t kind = (row + kRows > p_.m ? 1U : 0U) |
                               (column + kColumns > p_.n ? 2U : 0U) |
                               (k + kDepth > p_.k ? 4U : 0U) | (k > 0 ? 8U : 0U);
      made_[kind](b + k * p_.ldb + column, a + row * p_.lda + k, c + row * p_.ldc + column);
    }
  }

 private:
  /// Returns the size of a whole tile or of the last, partial one; 0 if there is none.
  static std::int64_t Side(std::int64_t size, std::int64_t tile, bool last) {
    if (last) return size % tile;
    return size >= tile ? tile : 0;
  }

  kernel::Sgemm p_;
  std::array<Kernel, 16> made_{};
};

void Multiply(char* const* addresses, const long* integers) {  // NOLINT(google-runtime-int)
  const kernel::Sgemm p = kernel::ToSgemm(integers);
  const auto* const a = reinterpret_cast<const float*>(addresses[0]);
  const auto* const b = reinterpret_cast<const float*>(addresses[1]);
  auto* const c = reinterpret_cast<float*>(addresses[2]);
  const Kernels kernels(p);
  const std::int64_t down = (p.m + kRows - 1) / kRows;
  const std::int64_t across = (p.n + kColumns - 1) / kColumns;
  ParallelFor(static_cast<int>(p.threads), down * across,
              [&](std::int64_t begin, std::int64_t end) {
                for (; begin < end; ++begin) {
                  // Goes down a column of tiles first, which reuses its part of B.
                  kernels.Tile(a, b, c, begin % down * kRows, begin / down * kColumns);
                }
              });
}

}  // namespace

const Library& LoadXsmm() {
  static const Library library = [] {
    libxsmm_init();
    const kernel::Sgemm some{.m = 8, .n = 8, .k = 8, .lda = 8, .ldb = 8, .ldc = 8};
    if (Dispatch(some, 8, 8, 8, 0.0F) == nullptr) {
      throw UserError("libxsmm makes no code for this CPU");
    }
    return Library{
        .version = std::string("libxsmm ") + LIBXSMM_VERSION + " " + libxsmm_get_target_arch(),
        .sgemm = Multiply,
        .transposes = false};
  }();
  return library;
}

}  // namespace msc::blas
