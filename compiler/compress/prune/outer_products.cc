#include "compiler/compress/prune/outer_products.h"

#include <algorithm>
#include <array>

#include "compiler/base/error.h"
#include "compiler/base/parallel.h"

// The program is built for the least x86-64; these loops are built for wider vectors, too, and the
// loader takes the best that the CPU has. Eigen, of two doubles a vector, is four times slower.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MSC_FOR_WIDE_VECTORS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MSC_FOR_WIDE_VECTORS
#endif

namespace msc {
namespace {

constexpr std::int64_t kWidth = Panels::kWidth;
/// Products below which a thread costs more than it gains.
constexpr double kWorkForThreads = 1e7;

/// Sets a tile to the products of two panels: tile[j][i] is of column i of a and j of b.
MSC_FOR_WIDE_VECTORS void SetTile(const double* a, const double* b, std::int64_t rows,
                                  double* tile) {
  using Vector __attribute__((vector_size(kWidth * sizeof(double)), aligned(8))) = double;
  Vector sums[kWidth] = {};  // NOLINT(modernize-avoid-c-arrays): an array class drops `aligned`
  for (std::int64_t r = 0; r < rows; ++r) {
    const Vector x = *reinterpret_cast<const Vector*>(a + r * kWidth);
    for (std::int64_t j = 0; j < kWidth; ++j) sums[j] += x * b[r * kWidth + j];
  }
  for (std::int64_t j = 0; j < kWidth; ++j) {
    *reinterpret_cast<Vector*>(tile + j * kWidth) = sums[j];
  }
}

}  // namespace

Panels::Panels(const float* rows, std::int64_t count, std::int64_t columns, std::int64_t stride)
    : rows_(count), columns_(columns) {
  values_.resize(static_cast<std::size_t>(this->count() * rows_ * kWidth));
  double* to = values_.data();
  for (std::int64_t first = 0; first < columns_; first += kWidth) {
    const std::int64_t here = std::min(kWidth, columns_ - first);
    for (std::int64_t r = 0; r < rows_; ++r, to += kWidth) {
      std::copy_n(rows + r * stride + first, here, to);
    }
  }
}

Panels::Panels(const double* values, std::int64_t rows, std::int64_t columns,
               std::int64_t row_stride, std::int64_t column_stride)
    : rows_(rows), columns_(columns) {
  values_.resize(static_cast<std::size_t>(this->count() * rows_ * kWidth));
  double* to = values_.data();
  for (std::int64_t first = 0; first < columns_; first += kWidth) {
    const std::int64_t here = std::min(kWidth, columns_ - first);
    for (std::int64_t r = 0; r < rows_; ++r, to += kWidth) {
      const double* const from = values + r * row_stride + first * column_stride;
      for (std::int64_t c = 0; c < here; ++c) to[c] = from[c * column_stride];
    }
  }
}

void AddProducts(const Panels& a, const Panels& b, bool lower, int threads, double* sums) {
  Check(a.rows() == b.rows(), "products are of equally many rows");
  const auto add = [&](std::size_t panel) {
    const auto j = static_cast<std::int64_t>(panel);
    const std::int64_t width = std::min(kWidth, b.columns() - j * kWidth);
    std::array<double, kWidth * kWidth> tile;
    for (std::int64_t i = lower ? j : 0; i < a.count(); ++i) {
      SetTile(a.panel(i), b.panel(j), a.rows(), tile.data());
      const std::int64_t height = std::min(kWidth, a.columns() - i * kWidth);
      for (std::int64_t c = 0; c < width; ++c) {
        double* to = sums + (j * kWidth + c) * a.columns() + i * kWidth;
        for (std::int64_t r = 0; r < height; ++r) {
          to[r] += tile[static_cast<std::size_t>(c * kWidth + r)];
        }
      }
    }
  };
  const auto panels = static_cast<std::size_t>(b.count());
  const double work =
      static_cast<double>(a.rows() * a.columns()) * static_cast<double>(b.columns());
  ForEachOnThreads(work < kWorkForThreads ? 1 : threads, panels, add);
}

}  // namespace msc
