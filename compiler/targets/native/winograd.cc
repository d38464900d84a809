#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/product.h"

// Winograd's minimal filtering for 3x3 windows of stride 1 (Lavin and Gray 2016, "Fast algorithms
// for convolutional neural networks", section 4): a tile of m x m pixels from (m+2)^2 products
// instead of 9 m^2. Y = A'[(G w G') * (B' x B)]A, summed over depth before the last step.

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

/// B' times a column of m+2 entries.
std::vector<Expr> InputStep(KernelWriter& writer, std::span<const Expr> d, Body& body) {
  const auto bind = [&](Expr value) { return writer.Bind(std::move(value), body); };
  if (d.size() == 4) {
    return {bind(d[0] - d[2]), bind(d[1] + d[2]), bind(d[2] - d[1]), bind(d[1] - d[3])};
  }
  const Expr even4 = bind(d[4] - Times(4, d[2]));
  const Expr odd4 = bind(d[3] - Times(4, d[1]));
  const Expr even1 = bind(d[4] - d[2]);
  const Expr odd1 = bind(Times(2, d[3] - d[1]));
  return {bind(Times(4, d[0]) - Times(5, d[2]) + d[4]),
          bind(even4 + odd4),
          bind(even4 - odd4),
          bind(even1 + odd1),
          bind(even1 - odd1),
          bind(Times(4, d[1]) - Times(5, d[3]) + d[5])};
}

/// A' times a column of m+2 entries.
std::vector<Expr> OutputStep(KernelWriter& writer, std::span<const Expr> m, Body& body) {
  const auto bind = [&](Expr value) { return writer.Bind(std::move(value), body); };
  if (m.size() == 4) return {bind(m[0] + m[1] + m[2]), bind(m[1] - m[2] - m[3])};
  const Expr sum1 = bind(m[1] + m[2]);
  const Expr difference1 = bind(m[1] - m[2]);
  const Expr sum2 = bind(m[3] + m[4]);
  const Expr difference2 = bind(m[3] - m[4]);
  return {bind(m[0] + sum1 + sum2), bind(difference1 + Times(2, difference2)),
          bind(sum1 + Times(4, sum2)), bind(difference1 + Times(8, difference2) + m[5])};
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
    for (const std::vector<Expr>& column : columns) row.push_back(column[i]);
    for (Expr& value : step(writer, row, body)) result.push_back(std::move(value));
  }
  return result;
}

constexpr std::size_t kMaxSide = 6;

/// G w G' for one 3x3 window, in double; side * side values, row by row.
std::array<double, kMaxSide * kMaxSide> FilterTransform(std::span<const float> w,
                                                        std::size_t side) {
  constexpr std::array<std::array<double, 3>, 4> kG2 = {
      {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
  constexpr std::array<std::array<double, 3>, 6> kG4 = {{{1.0 / 4, 0, 0},
                                                         {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                         {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                         {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                         {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                         {0, 0, 1}}};
  const std::array<double, 3>* g = side == 4 ? kG2.data() : kG4.data();
  std::array<double, kMaxSide * kMaxSide> u{};
  for (std::size_t i = 0; i < side; ++i) {
    std::array<double, 3> row{};  // of G w
    for (std::size_t b = 0; b < 3; ++b) {
      row[b] = g[i][0] * w[b] + g[i][1] * w[3 + b] + g[i][2] * w[6 + b];
    }
    for (std::size_t j = 0; j < side; ++j) {
      u[i * side + j] = row[0] * g[j][0] + row[1] * g[j][1] + row[2] * g[j][2];
    }
  }
  return u;
}

/// All windows of `weights` transformed: [side * side, count]. Some at a time, as so many streams a
/// power of two apart would push each other out of the cache.
std::vector<float> TransformedFilters(std::span<const float> weights, std::size_t side) {
  constexpr std::size_t kAtATime = 64;
  const std::size_t count = weights.size() / 9;
  const std::size_t points = side * side;
  std::vector<float> all(points * count);
  std::array<std::array<float, kAtATime>, kMaxSide * kMaxSide> some{};
  for (std::size_t first = 0; first < count; first += kAtATime) {
    const std::size_t here = std::min(kAtATime, count - first);
    for (std::size_t i = 0; i < here; ++i) {
      const auto u = FilterTransform(weights.subspan((first + i) * 9, 9), side);
      for (std::size_t p = 0; p < points; ++p) some[p][i] = static_cast<float>(u[p]);
    }
    for (std::size_t p = 0; p < points; ++p) {
      std::copy_n(some[p].begin(), here,
                  all.begin() + static_cast<std::ptrdiff_t>(p * count + first));
    }
  }
  return all;
}

/// Transformed tiles in scratch memory, seen as [1, side*side*channels, 1, tiles].
View TileMemory(Lowering& lowering, std::int64_t points, std::int64_t channels,
                std::int64_t tiles) {
  std::int64_t elements = 0;
  View view =
      NewView(DType::kF32, {1, points * channels, 1, tiles}, AxisOrder(4), Halo(4), elements);
  view.buffer = lowering.Scratch(DType::kF32, elements).buffer;
  return view;
}

}  // namespace

void LowerWinograd(Lowering& lowering, const Group& group, const ConvProblem& problem) {
  const WinogradTiling tiling =
      TilingOf(problem.out_dims[2], problem.out_dims[3], WinogradTile(problem.schedule.algorithm));
  const std::int64_t points = tiling.side * tiling.side;
  const auto side = static_cast<std::size_t>(tiling.side);
  const std::int64_t depth = problem.depth();
  const std::int64_t channels = problem.channels();
  const std::int64_t tiles = tiling.block * tiling.columns;
  const int lanes = lowering.unit().lanes;
  const View x = FirstTaps(lowering, problem);
  const ValueId result = ResultOf(lowering.graph(), group);
  const Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);

  // One product for each point of a tile: the points are the groups.
  const View in = TileMemory(lowering, points, depth, tiles);
  const View out = TileMemory(lowering, points, channels, tiles);
  const Product product{.x = SplitGroups(in, points), .channels = channels};
  const TileSchedule& tile = problem.schedule.tile;
  std::vector<float> filters;  // made when they are asked for: kernels alone need none
  const PackedWeights packed =
      PackWeights(lowering, product, tile,
                  [&](std::int64_t point, std::int64_t c, std::int64_t /*kh*/, std::int64_t /*kw*/,
                      std::span<float> row) {
                    if (filters.empty())
                      filters = TransformedFilters(problem.weights->Values<float>(), side);
                    const std::int64_t at = (point * channels + c) * depth;
                    std::copy_n(filters.begin() + at, row.size(), row.begin());
                  });

  const kernel::Type vector{DType::kF32, lanes};
  const std::int64_t blocks = tiling.rows / tiling.block;

  const auto read_tile = [&](KernelWriter& writer, const Expr& n, const Expr& tile_row,
                             const Expr& column, const Expr& slot, const Place& c, Body& body) {
    const kernel::BufferRef x_buffer = writer.Use(x, Access::kRead);
    std::vector<Expr> d;
    const std::vector<Expr> at{n, c.at[0], tile_row * tiling.m, column * tiling.m};
    const Expr first = writer.Bind(KernelWriter::IndexOf(x, at), body);
    for (std::int64_t i = 0; i < tiling.side; ++i) {
      for (std::int64_t j = 0; j < tiling.side; ++j) {
        d.push_back(writer.Bind(
            kernel::Load(x_buffer, first + (i * x.strides[2] + j * x.strides[3]), vector, c.valid),
            body));
      }
    }
    const std::vector<Expr> v = BothSides(writer, d, side, InputStep, body);
    for (std::int64_t p = 0; p < points; ++p) {
      const Place to{.at = {Int(0), c.at[0] + p * depth, Int(0), slot},
                     .axis = 1,
                     .lanes = lanes,
                     .valid = c.valid};
      StoreAt(writer, in, to, v[static_cast<std::size_t>(p)], body);
    }
  };
  const auto write_tile = [&](KernelWriter& writer, const Expr& n, const Expr& tile_row,
                              const Expr& column, const Expr& slot, const Place& c, Body& body) {
    std::vector<Expr> m;
    for (std::int64_t p = 0; p < points; ++p) {
      const Place from{.at = {Int(0), c.at[0] + p * channels, Int(0), slot},
                       .axis = 1,
                       .lanes = lanes,
                       .valid = c.valid};
      m.push_back(writer.Bind(LoadAt(writer, out, from), body));
    }
    const std::vector<Expr> y = BothSides(writer, m, side, OutputStep, body);
    for (std::int64_t i = 0; i < tiling.m; ++i) {
      for (std::int64_t j = 0; j < tiling.m; ++j) {
        const Expr row = tile_row * tiling.m + i;
        const Expr pixel = column * tiling.m + j;
        Body store;
        epilogue.Store(
            writer,
            Place{.at = {n, c.at[0], row, pixel}, .axis = 1, .lanes = lanes, .valid = c.valid},
            y[static_cast<std::size_t>(i * tiling.m + j)], store);
        const std::int64_t height = problem.out_dims[2];
        const std::int64_t width = problem.out_dims[3];
        // Tiles that hang over the edge are computed whole and stored in part.
        if (height % tiling.m != 0 && i >= height % tiling.m) {
          Body inner = std::move(store);
          store.clear();
          store.push_back({kernel::If{.condition = Binary(Op::kLess, row, Int(height)),
                                      .body = std::move(inner),
                                      .otherwise = {}}});
        }
        if (width % tiling.m != 0 && j >= width % tiling.m) {
          Body inner = std::move(store);
          store.clear();
          store.push_back({kernel::If{.condition = Binary(Op::kLess, pixel, Int(width)),
                                      .body = std::move(inner),
                                      .otherwise = {}}});
        }
        for (kernel::Stmt& stmt : store) body.push_back(std::move(stmt));
      }
    }
  };

  // All tiles of a block, with each vector of its channels.
  const auto each_tile = [&](KernelWriter& writer, const Expr& n, const Expr& first_row,
                             std::int64_t count, kernel::LoopKind kind, const auto& make) {
    return LoopOver(
        writer, {tiling.block, tiling.columns, count}, lanes,
        [&](const Place& place, Body& inner) {
          const Expr tile_row = writer.Bind(first_row + place.at[0], inner);
          const Expr slot = writer.Bind(place.at[0] * tiling.columns + place.at[1], inner);
          const Place c{.at = {place.at[2]}, .axis = 0, .lanes = lanes, .valid = place.valid};
          make(writer, n, tile_row, place.at[1], slot, c, inner);
        },
        kind);
  };
  const auto multiply = [&](KernelWriter& writer, kernel::LoopKind kind) {
    return ProductBody(writer, lowering.unit(), product, tile, packed,
                       Epilogue(lowering.graph(), SplitGroups(out, points)), kind);
  };
  const Label label = lowering.LabelOf(group.nodes(), "f32");
  if (problem.out_dims[0] * blocks == 1) {
    // There is one block, so threads share each part of its work: a kernel for each.
    constexpr auto kShared = kernel::LoopKind::kParallel;
    KernelWriter first = lowering.Writer("winograd_in");
    (void)first.Use(in, Access::kWrite);
    Body read = each_tile(first, Int(0), Int(0), depth, kShared, read_tile);
    lowering.AddCall(std::move(first), std::move(read), 0, label);
    KernelWriter second = lowering.Writer("winograd");
    (void)second.Use(out, Access::kWrite);
    Body products = multiply(second, kShared);
    lowering.AddCall(std::move(second), std::move(products), problem.flops(), label);
    KernelWriter third = lowering.Writer("winograd_out");
    (void)third.Use(out, Access::kRead);
    Body write = each_tile(third, Int(0), Int(0), channels, kShared, write_tile);
    lowering.AddCall(std::move(third), std::move(write), 0, label);
  } else {
    KernelWriter writer = lowering.Writer("winograd");
    (void)writer.Use(in, Access::kScratch);
    (void)writer.Use(out, Access::kScratch);
    Body body = writer.Loop(
        problem.out_dims[0] * blocks, kernel::LoopKind::kParallel, [&](const Expr& index) {
          constexpr auto kAlone = kernel::LoopKind::kSerial;
          Body inside;
          const auto append = [&](Body part) {
            for (kernel::Stmt& stmt : part) inside.push_back(std::move(stmt));
          };
          const Expr n = writer.Bind(Binary(Op::kDiv, index, Int(blocks)), inside);
          const Expr row = writer.Bind(Binary(Op::kMod, index, Int(blocks)) * tiling.block, inside);
          append(each_tile(writer, n, row, depth, kAlone, read_tile));
          append(multiply(writer, kAlone));
          append(each_tile(writer, n, row, channels, kAlone, write_tile));
          return inside;
        });
    lowering.AddCall(std::move(writer), std::move(body), problem.flops(), label);
  }
  lowering.Finish(result);
}

}  // namespace msc::native
