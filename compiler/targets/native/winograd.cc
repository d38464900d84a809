#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "compiler/base/parallel.h"
#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/product.h"

// Winograd's minimal filtering for 3x3 windows of stride 1 (Lavin and Gray 2016, "Fast algorithms
// for convolutional neural networks", section 4): a tile of m x m pixels takes (m+2)^2 products
// instead of 9 m^2. Y = A'[(G w G') * (B' x B)]A, where ' transposes and * multiplies entry by
// entry, with the sum over depth taken before the step with A.
// The constants of B' and A' grow with m, and rounding errors with them. They also depend on the
// points: of those of m = 4, the usual 0, 1, -1, 2, -2 and infinity have rows of A' whose absolute
// values sum to 19, and 0, 3/4, -3/4, 3/2, -3/2 and infinity, whose constants are exact in f32 as
// well, to 9. With normally distributed data and a depth of 64, the mean error is 1.9 times that of
// a direct sum in f32 with these points, where it was 3.2 times with the usual ones, and 0.7 times
// for m = 2 (the test NativeWinograd.IsNearlyAsExactAsADirectSum prints it; compare Barabasz et al.
// 2020, "Error analysis and improving the accuracy of Winograd convolution for deep neural
// networks").

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::Float;
using kernel::Int;
using kernel::Op;

Expr Times(double factor, const Expr& x) {
  return Float(factor, x->type.lanes) * x;
}

/// Points of F(4x4,3x3): 0, a, -a, b, -b and infinity.
constexpr double kA = 0.75;
constexpr double kB = 1.5;

/// Multiplies B' with a column of m+2 entries.
std::vector<Expr> InputStep(KernelWriter& writer, std::span<const Expr> d, Body& body) {
  const auto bind = [&](Expr value) { return writer.Bind(std::move(value), body); };
  // B' of F(2x2,3x3) for the points 0, 1, -1 and infinity: additions only.
  if (d.size() == 4) {
    return {bind(d[0] - d[2]), bind(d[1] + d[2]), bind(d[2] - d[1]), bind(d[1] - d[3])};
  }
  // B' of F(4x4,3x3) for the points 0, a, -a, b, -b and infinity. Rows of opposite points differ
  // only in the sign of their odd entries, so each such pair shares its even and its odd part.
  constexpr double kSquares = kA * kA + kB * kB;
  constexpr double kBoth = kA * kA * kB * kB;
  const Expr even_a = bind(d[4] - Times(kB * kB, d[2]));
  const Expr odd_a = bind(Times(kA, d[3]) - Times(kA * kB * kB, d[1]));
  const Expr even_b = bind(d[4] - Times(kA * kA, d[2]));
  const Expr odd_b = bind(Times(kB, d[3]) - Times(kB * kA * kA, d[1]));
  return {bind(Times(kBoth, d[0]) - Times(kSquares, d[2]) + d[4]),
          bind(even_a + odd_a),
          bind(even_a - odd_a),
          bind(even_b + odd_b),
          bind(even_b - odd_b),
          bind(Times(kBoth, d[1]) - Times(kSquares, d[3]) + d[5])};
}

/// Multiplies A' with a column of m+2 entries.
std::vector<Expr> OutputStep(KernelWriter& writer, std::span<const Expr> m, Body& body) {
  const auto bind = [&](Expr value) { return writer.Bind(std::move(value), body); };
  if (m.size() == 4) return {bind(m[0] + m[1] + m[2]), bind(m[1] - m[2] - m[3])};
  // Row j of A' holds the powers j of the points 0, a, -a, b and -b. Opposite points share sums for
  // even powers and differences for odd ones.
  const Expr sum_a = bind(m[1] + m[2]);
  const Expr difference_a = bind(m[1] - m[2]);
  const Expr sum_b = bind(m[3] + m[4]);
  const Expr difference_b = bind(m[3] - m[4]);
  return {bind(m[0] + sum_a + sum_b), bind(Times(kA, difference_a) + Times(kB, difference_b)),
          bind(Times(kA * kA, sum_a) + Times(kB * kB, sum_b)),
          bind(Times(kA * kA * kA, difference_a) + Times(kB * kB * kB, difference_b) + m[5])};
}

/// Applies a step to the columns, then to the rows, of a square of values in row-major order.
template <class Step>
std::vector<Expr> BothSides(KernelWriter& writer, const std::vector<Expr>& square, std::size_t side,
                            const Step& step, Body& body) {
  std::vector<std::vector<Expr>> columns;
  for (std::size_t j = 0; j < side; ++j) {
    std::vector<Expr> column;
    for (std::size_t i = 0; i < side; ++i) column.push_back(square[i * side + j]);
    columns.push_back(step(writer, column, body));
  }
  std::vector<Expr> result;
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    std::vector<Expr> row;
    row.reserve(columns.size());
    for (const std::vector<Expr>& column : columns) row.push_back(column[i]);
    for (Expr& value : step(writer, row, body)) result.push_back(std::move(value));
  }
  return result;
}

constexpr std::size_t kMaxSide = 6;

/// Computes G w G' for one 3x3 window, in double. Returns side * side values, row by row.
std::array<double, kMaxSide * kMaxSide> FilterTransform(std::span<const float> w,
                                                        std::size_t side) {
  // Most quotients have no exact binary form. In double their error is negligible, so each
  // transformed weight is rounded once, when it becomes f32.
  constexpr std::array<std::array<double, 3>, 4> kG2 = {
      {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
  // The powers of a point, divided by its differences to the other finite points.
  constexpr double kOf0 = kA * kA * kB * kB;
  constexpr double kOfA = 2 * kA * kA * (kA * kA - kB * kB);
  constexpr double kOfB = 2 * kB * kB * (kB * kB - kA * kA);
  constexpr std::array<std::array<double, 3>, 6> kG4 = {{{1 / kOf0, 0, 0},
                                                         {1 / kOfA, kA / kOfA, kA * kA / kOfA},
                                                         {1 / kOfA, -kA / kOfA, kA * kA / kOfA},
                                                         {1 / kOfB, kB / kOfB, kB * kB / kOfB},
                                                         {1 / kOfB, -kB / kOfB, kB * kB / kOfB},
                                                         {0, 0, 1}}};
  const std::array<double, 3>* g = side == 4 ? kG2.data() : kG4.data();
  std::array<double, kMaxSide * kMaxSide> u{};
  for (std::size_t i = 0; i < side; ++i) {
    std::array<double, 3> row{};  // a row of G w
    for (std::size_t b = 0; b < 3; ++b) {
      row[b] = g[i][0] * w[b] + g[i][1] * w[3 + b] + g[i][2] * w[6 + b];
    }
    for (std::size_t j = 0; j < side; ++j) {
      u[i * side + j] = row[0] * g[j][0] + row[1] * g[j][1] + row[2] * g[j][2];
    }
  }
  return u;
}

/// Transforms all windows of `weights` into [side * side, count]. Works on some windows at a time:
/// writing one stream per point, a power of two apart, would evict their cache lines.
std::vector<float> TransformedFilters(std::span<const float> weights, std::size_t side) {
  // 36 points of 64 windows in f32 are 9 KiB, which fit in an L1 cache.
  constexpr std::size_t kAtATime = 64;
  constexpr std::size_t kMany = 256;  // fewer parts do not pay for threads
  const std::size_t count = weights.size() / 9;
  const std::size_t points = side * side;
  std::vector<float> all(points * count);
  const std::size_t parts = (count + kAtATime - 1) / kAtATime;
  ForEachOnThreads(parts < kMany ? 1 : CoreCount(), parts, [&](std::size_t part) {
    std::array<std::array<float, kAtATime>, kMaxSide * kMaxSide> some{};
    const std::size_t first = part * kAtATime;
    const std::size_t here = std::min(kAtATime, count - first);
    for (std::size_t i = 0; i < here; ++i) {
      const auto u = FilterTransform(weights.subspan((first + i) * 9, 9), side);
      for (std::size_t p = 0; p < points; ++p) some[p][i] = static_cast<float>(u[p]);
    }
    for (std::size_t p = 0; p < points; ++p) {
      std::copy_n(some[p].begin(), here,
                  all.begin() + static_cast<std::ptrdiff_t>(p * count + first));
    }
  });
  return all;
}

/// Returns scratch memory for transformed tiles, with dims [1, side*side*channels, 1, tiles].
View TileMemory(Lowering& lowering, std::int64_t points, std::int64_t channels,
                std::int64_t tiles) {
  // In the axis order of images, the points of a tile are adjacent, each with all its channels.
  std::int64_t elements = 0;
  View view =
      NewView(DType::kF32, {1, points * channels, 1, tiles}, AxisOrder(4), Halo(4), elements);
  view.buffer = lowering.Scratch(DType::kF32, elements).buffer;
  return view;
}

/// One tile of an image and a vector of its channels.
struct TilePart {
  Expr n;
  Expr row;
  Expr column;
  Expr slot = {};  ///< position of the tile in the memory of its block
  Place c;
};

class Winograd {
 public:
  Winograd(Lowering& lowering, const Group& group, const ConvProblem& problem)
      : lowering_(lowering),
        problem_(problem),
        label_(lowering.LabelOf(group.nodes(), "f32")),
        tiling_(TilingOf(problem.out_dims[2], problem.out_dims[3],
                         WinogradTile(problem.schedule.algorithm))),
        points_(tiling_.side * tiling_.side),
        blocks_(tiling_.rows / tiling_.block),
        lanes_(lowering.unit().lanes),
        x_(FirstTaps(lowering, problem)),
        epilogue_(lowering, group, lowering.Out(ResultOf(lowering.graph(), group), AxisOrder(4)),
                  1),
        in_(TileMemory(lowering, points_, problem.depth(), tiling_.block * tiling_.columns)),
        out_(TileMemory(lowering, points_, problem.channels(), tiling_.block * tiling_.columns)),
        product_{.x = SplitGroups(in_, points_), .channels = problem.channels()},
        packed_(Pack()) {}

  void AddCalls() {
    if (problem_.out_dims[0] * blocks_ == 1) {
      AddCallsOfOneBlock();
    } else {
      AddCallOfBlocks();
    }
  }

 private:
  [[nodiscard]] std::size_t side() const { return static_cast<std::size_t>(tiling_.side); }

  // Packs the weights of one product per point of a tile; the points are the groups.
  [[nodiscard]] PackedWeights Pack() {
    const std::int64_t depth = problem_.depth();
    std::vector<float> filters;  // made on demand: a check of support needs none
    std::once_flag made;
    return PackWeights(lowering_, product_, problem_.schedule.tile,
                       [&](std::int64_t point, std::int64_t c, std::int64_t /*kh*/,
                           std::int64_t /*kw*/, std::span<float> row) {
                         std::call_once(made, [&] {
                           filters = TransformedFilters(problem_.weights->Values<float>(), side());
                         });
                         const std::int64_t at = (point * problem_.channels() + c) * depth;
                         std::copy_n(filters.begin() + at, row.size(), row.begin());
                       });
  }

  [[nodiscard]] Place Slot(const TilePart& part, std::int64_t point, std::int64_t channels) const {
    return {.at = {Int(0), part.c.at[0] + point * channels, Int(0), part.slot},
            .axis = 1,
            .lanes = lanes_,
            .valid = part.c.valid};
  }

  void ReadTile(KernelWriter& writer, const TilePart& part, Body& body) const {
    const kernel::BufferRef x_buffer = writer.Use(x_, Access::kRead);
    const kernel::Type vector{DType::kF32, lanes_};
    std::vector<Expr> d;
    const std::vector<Expr> at{part.n, part.c.at[0], part.row * tiling_.m, part.column * tiling_.m};
    const Expr first = writer.Bind(KernelWriter::IndexOf(x_, at), body);
    // No test for edges: tiles lie inside the halo of zeros, which spans whole tiles (HaloOf).
    for (std::int64_t i = 0; i < tiling_.side; ++i) {
      for (std::int64_t j = 0; j < tiling_.side; ++j) {
        d.push_back(
            writer.Bind(kernel::Load(x_buffer, first + (i * x_.strides[2] + j * x_.strides[3]),
                                     vector, part.c.valid),
                        body));
      }
    }
    const std::vector<Expr> v = BothSides(writer, d, side(), InputStep, body);
    for (std::int64_t p = 0; p < points_; ++p) {
      StoreAt(writer, in_, Slot(part, p, problem_.depth()), v[static_cast<std::size_t>(p)], body);
    }
  }

  void WriteTile(KernelWriter& writer, const TilePart& part, Body& body) const {
    std::vector<Expr> m;
    for (std::int64_t p = 0; p < points_; ++p) {
      m.push_back(writer.Bind(LoadAt(writer, out_, Slot(part, p, problem_.channels())), body));
    }
    const std::vector<Expr> y = BothSides(writer, m, side(), OutputStep, body);
    for (std::int64_t i = 0; i < tiling_.m; ++i) {
      for (std::int64_t j = 0; j < tiling_.m; ++j) {
        const Expr row = part.row * tiling_.m + i;
        const Expr pixel = part.column * tiling_.m + j;
        Body store;
        epilogue_.Store(writer,
                        Place{.at = {part.n, part.c.at[0], row, pixel},
                              .axis = 1,
                              .lanes = lanes_,
                              .valid = part.c.valid},
                        y[static_cast<std::size_t>(i * tiling_.m + j)], store);
        store = Inside(row, i, problem_.out_dims[2], std::move(store));
        store = Inside(pixel, j, problem_.out_dims[3], std::move(store));
        for (kernel::Stmt& stmt : store) body.push_back(std::move(stmt));
      }
    }
  }

  /// Tiles that extend past the edge are computed whole and stored in part. Guards `store` so that
  /// it runs only if `index`, entry `i` of its tile, is below `size`.
  [[nodiscard]] Body Inside(const Expr& index, std::int64_t i, std::int64_t size,
                            Body store) const {
    if (size % tiling_.m == 0 || i < size % tiling_.m) return store;
    Body guarded;
    guarded.push_back({kernel::If{.condition = Binary(Op::kLess, index, Int(size)),
                                  .body = std::move(store),
                                  .otherwise = {}}});
    return guarded;
  }

  using Make = void (Winograd::*)(KernelWriter& writer, const TilePart& part, Body& body) const;

  /// Writes `make` for all tiles of a block and each vector of their channels.
  [[nodiscard]] Body EachTile(KernelWriter& writer, const Expr& n, const Expr& first_row,
                              std::int64_t channels, kernel::LoopKind kind, Make make) const {
    return LoopOver(
        writer, {tiling_.block, tiling_.columns, channels}, lanes_,
        [&](const Place& place, Body& inner) {
          TilePart part{
              .n = n,
              .row = writer.Bind(first_row + place.at[0], inner),
              .column = place.at[1],
              .c = {.at = {place.at[2]}, .axis = 0, .lanes = lanes_, .valid = place.valid}};
          part.slot = writer.Bind(place.at[0] * tiling_.columns + place.at[1], inner);
          (this->*make)(writer, part, inner);
        },
        kind);
  }

  [[nodiscard]] Body Multiply(KernelWriter& writer, kernel::LoopKind kind) const {
    // The products stay f32 sums. Bias and activation follow the step with A, in WriteTile.
    return ProductBody(writer, lowering_.unit(), product_, problem_.schedule.tile, packed_,
                       Epilogue(lowering_.graph(), SplitGroups(out_, points_)), kind);
  }

  /// Adds one kernel per part of the work, because there is only one block: threads share each
  /// part.
  void AddCallsOfOneBlock() {
    constexpr auto kShared = kernel::LoopKind::kParallel;
    KernelWriter first = lowering_.Writer("winograd_in");
    (void)first.Use(in_, Access::kWrite);
    Body read = EachTile(first, Int(0), Int(0), problem_.depth(), kShared, &Winograd::ReadTile);
    lowering_.AddCall(std::move(first), std::move(read), 0, label_);
    KernelWriter second = lowering_.Writer("winograd");
    (void)second.Use(out_, Access::kWrite);
    Body products = Multiply(second, kShared);
    lowering_.AddCall(std::move(second), std::move(products), problem_.flops(), label_);
    KernelWriter third = lowering_.Writer("winograd_out");
    (void)third.Use(out_, Access::kRead);
    Body write =
        EachTile(third, Int(0), Int(0), problem_.channels(), kShared, &Winograd::WriteTile);
    lowering_.AddCall(std::move(third), std::move(write), 0, label_);
  }

  /// Adds one kernel whose threads share blocks. The tiles of a block stay in the cache of a core.
  void AddCallOfBlocks() {
    constexpr auto kAlone = kernel::LoopKind::kSerial;
    KernelWriter writer = lowering_.Writer("winograd");
    // Each thread has transformed tiles and products of its own.
    (void)writer.Use(in_, Access::kScratch);
    (void)writer.Use(out_, Access::kScratch);
    Body body = writer.Loop(
        problem_.out_dims[0] * blocks_, kernel::LoopKind::kParallel, [&](const Expr& index) {
          Body inside;
          const auto append = [&](Body part) {
            for (kernel::Stmt& stmt : part) inside.push_back(std::move(stmt));
          };
          const Expr n = writer.Bind(Binary(Op::kDiv, index, Int(blocks_)), inside);
          const Expr row =
              writer.Bind(Binary(Op::kMod, index, Int(blocks_)) * tiling_.block, inside);
          append(EachTile(writer, n, row, problem_.depth(), kAlone, &Winograd::ReadTile));
          append(Multiply(writer, kAlone));
          append(EachTile(writer, n, row, problem_.channels(), kAlone, &Winograd::WriteTile));
          return inside;
        });
    lowering_.AddCall(std::move(writer), std::move(body), problem_.flops(), label_);
  }

  Lowering& lowering_;
  const ConvProblem& problem_;
  Label label_;
  WinogradTiling tiling_;
  std::int64_t points_;
  std::int64_t blocks_;
  int lanes_;
  View x_;
  Epilogue epilogue_;
  View in_;   ///< transformed tiles of a block
  View out_;  ///< products of the tiles
  Product product_;
  PackedWeights packed_;
};

}  // namespace

void LowerWinograd(Lowering& lowering, const Group& group, const ConvProblem& problem) {
  Winograd(lowering, group, problem).AddCalls();
  lowering.Finish(ResultOf(lowering.graph(), group));
}

}  // namespace msc::native
