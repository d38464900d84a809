#include "compiler/compress/prune/outer_products.h"

#include <algorithm>
#include <array>

#include "compiler/base/error.h"
#include "compiler/base/parallel.h"

// The program is built for the least x86-64; these loops are built for wider vectors, too, and the
// best that the CPU has is taken. Eigen, of two doubles a vector, is four times slower.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MSC_FOR(arch) __attribute__((target(arch)))
#define MSC_HAS(arch) __builtin_cpu_supports(arch)
// Sums are in registers only where no loop counts them.
#define MSC_UNROLL _Pragma("GCC unroll 8")
#else
#define MSC_FOR(arch)
#define MSC_HAS(arch) false
#define MSC_UNROLL
#endif

namespace msc {
namespace {

constexpr std::int64_t kWidth = Panels::kWidth;
/// Products below which a thread costs more than it gains.
constexpr double kWorkForThreads = 1e7;
constexpr std::int64_t kPanelsInCache = 8;
constexpr std::int64_t kPartsAThread = 4;

/// Sets a tile to the products of two panels: tile[j][i] is of column i of a and j of b. Takes
/// `kColumns` columns at a time, whose sums stay in registers of `kLanes` doubles.
template <std::int64_t kLanes, std::int64_t kColumns>
[[gnu::always_inline]] inline void SetTile(const double* a, const double* b, std::int64_t rows,
                                           double* tile) {
  using Vector __attribute__((vector_size(kLanes * sizeof(double)), aligned(8))) = double;
  constexpr std::int64_t kVectors = kWidth / kLanes;
  for (std::int64_t first = 0; first < kWidth; first += kColumns) {
    // NOLINTNEXTLINE(modernize-avoid-c-arrays): an array class drops `aligned`
    Vector sums[kColumns][kVectors] = {};
    for (std::int64_t r = 0; r < rows; ++r) {
      const double* const x = a + r * kWidth;
      MSC_UNROLL
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const double y = b[r * kWidth + first + j];
        MSC_UNROLL
        for (std::int64_t v = 0; v < kVectors; ++v) {
          sums[j][v] += *reinterpret_cast<const Vector*>(x + v * kLanes) * y;
        }
      }
    }
    MSC_UNROLL
    for (std::int64_t j = 0; j < kColumns; ++j) {
      MSC_UNROLL
      for (std::int64_t v = 0; v < kVectors; ++v) {
        *reinterpret_cast<Vector*>(tile + (first + j) * kWidth + v * kLanes) = sums[j][v];
      }
    }
  }
}

// Of 32 registers of 8 doubles, 16 of 4 and 16 of 2, eight hold sums.
MSC_FOR("arch=x86-64-v4")
void SetTileV4(const double* a, const double* b, std::int64_t rows, double* tile) {
  SetTile<8, 8>(a, b, rows, tile);
}
MSC_FOR("arch=x86-64-v3")
void SetTileV3(const double* a, const double* b, std::int64_t rows, double* tile) {
  SetTile<4, 4>(a, b, rows, tile);
}
void SetTileV1(const double* a, const double* b, std::int64_t rows, double* tile) {
  SetTile<2, 2>(a, b, rows, tile);
}

using TileSetter = void (*)(const double*, const double*, std::int64_t, double*);

TileSetter BestTileSetter() {
  if (MSC_HAS("x86-64-v4")) return SetTileV4;
  return MSC_HAS("x86-64-v3") ? SetTileV3 : SetTileV1;
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

void AddProducts(const Panels& a, const Panels& b, bool lower, int threads, ProductSums sums) {
  Check(a.rows() == b.rows(), "products are of equally many rows");
  static const TileSetter set_tile = BestTileSetter();
  const auto add = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t width = std::min(kWidth, b.columns() - j * kWidth);
    const std::int64_t height = std::min(kWidth, a.columns() - i * kWidth);
    std::array<double, kWidth * kWidth> tile;
    set_tile(a.panel(i), b.panel(j), a.rows(), tile.data());
    for (std::int64_t c = 0; c < width; ++c) {
      double* to = sums.first + (j * kWidth + c) * sums.stride + i * kWidth;
      for (std::int64_t r = 0; r < height; ++r) {
        to[r] += tile[static_cast<std::size_t>(c * kWidth + r)];
      }
    }
  };
  const double work =
      static_cast<double>(a.rows() * a.columns()) * static_cast<double>(b.columns());
  if (work < kWorkForThreads) threads = 1;
  // Some panels of b stay in the cache while those of a pass by.
  const std::int64_t together =
      std::clamp<std::int64_t>(b.count() / (kPartsAThread * threads), 1, kPanelsInCache);
  const auto add_group = [&](std::size_t group) {
    const std::int64_t first = static_cast<std::int64_t>(group) * together;
    const std::int64_t end = std::min(first + together, b.count());
    for (std::int64_t i = lower ? first : 0; i < a.count(); ++i) {
      for (std::int64_t j = first; j < (lower ? std::min(end, i + 1) : end); ++j) add(i, j);
    }
  };
  ForEachOnThreads(threads, static_cast<std::size_t>((b.count() + together - 1) / together),
                   add_group);
}

void AddProducts(const Panels& a, const Panels& b, bool lower, int threads, double* sums) {
  AddProducts(a, b, lower, threads, {.first = sums, .stride = a.columns()});
}

std::vector<double> QuadraticForms(const double* rows, std::int64_t count, const double* moments,
                                   std::int64_t n, int threads) {
  constexpr std::int64_t kTogether = 256;  // rows and columns of blocks
  std::vector<double> forms(static_cast<std::size_t>(count));
  const auto add_part = [&](std::size_t part) {
    const std::int64_t first = static_cast<std::int64_t>(part) * kTogether;
    const std::int64_t height = std::min(kTogether, count - first);
    std::vector<double> products;
    for (std::int64_t k = 0; k < n; k += kTogether) {
      // As M is symmetric, the block on the diagonal and twice what is right of it are the whole.
      const std::int64_t depth = std::min(kTogether, n - k);
      products.assign(static_cast<std::size_t>(height * (n - k)), 0.0);
      AddProducts(Panels(rows + k * count + first, depth, height, count, 1),
                  Panels(moments + k * n + k, depth, n - k, n, 1), false, 1, products.data());
      for (std::int64_t c = 0; c < n - k; ++c) {
        const double share = c < depth ? 1.0 : 2.0;
        const double* const product = products.data() + c * height;
        const double* const row = rows + (k + c) * count + first;
        double* const form = forms.data() + first;
        for (std::int64_t r = 0; r < height; ++r) form[r] += share * product[r] * row[r];
      }
    }
  };
  const double work = static_cast<double>(count) * static_cast<double>(n * n) / 2;
  ForEachOnThreads(work < kWorkForThreads ? 1 : threads,
                   static_cast<std::size_t>((count + kTogether - 1) / kTogether), add_part);
  return forms;
}

}  // namespace msc
