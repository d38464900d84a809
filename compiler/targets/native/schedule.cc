#include "compiler/targets/native/schedule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/codegen/cpp/isa.h"

namespace msc::native {
namespace {

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Calls make(columns, vectors) for every register tile that fits.
template <class Make>
void EachTile(const ProductShape& shape, const VectorUnit& unit, const Make& make) {
  constexpr int kMaxVectors = 4;
  constexpr int kMaxNarrowColumns = 12;
  const bool narrow = shape.x != DType::kF32;
  const bool as_they_are =
      shape.x == DType::kBF16 ? unit.dot2 : unit.dot4 || (unit.dot4_narrow && shape.narrow);
  const std::int64_t vectors_in_all = CeilDiv(shape.channels, unit.lanes);
  for (int vectors = 1; vectors <= kMaxVectors; ++vectors) {
    if (vectors > vectors_in_all && vectors > 1) break;
    // The remaining registers hold the weights of one step and one broadcast element. Narrow types
    // need two more: the constant 128 of i8 and a spare one for the compiler. Where weights must be
    // widened first, these take as many registers again.
    const int more = !narrow ? 0 : as_they_are ? 2 : vectors + 2;
    // Each column of each vector has a sum in a register: up to 14 columns of 2 vectors with 32
    // registers, 6 of 2 with 16.
    const int fitting = (unit.registers - vectors - 1 - more) / vectors;
    // Compilers load many columns at once and then run out of registers.
    const int max_columns = std::max(1, narrow ? std::min(fitting, kMaxNarrowColumns) : fitting);
    for (int columns = 1; columns <= max_columns; ++columns) {
      if (columns > shape.rows && columns > 1) break;
      make(columns, vectors);
    }
  }
}

/// Returns the cycles of one step of the depth loop, at one vector FMA per cycle.
double StepCycles(std::int64_t columns, std::int64_t vectors, DType x) {
  const auto products = static_cast<double>(columns * vectors);
  // A core loads two scalars or one vector per cycle. A narrow entry spread over all lanes counts
  // as a vector load; an f32 is broadcast by the multiplication that reads it.
  const double spread = x == DType::kF32 ? 0.5 : 1;
  const double loads = static_cast<double>(vectors) + spread * static_cast<double>(columns);
  // A sum depends on itself with a latency of four cycles.
  constexpr double kLatency = 4;
  // Loads have ports of their own, but waiting for them delays multiplications, too.
  constexpr double kHoldUp = 0.1;
  return std::max({products, loads, kLatency}) + kHoldUp * static_cast<double>(vectors + columns);
}

/// Returns the cycles of one step over all rows and channels.
double TileCycles(const ProductShape& shape, const VectorUnit& unit, int columns, int vectors) {
  // Whole tiles, then partial tiles at the end of the rows, of the channels, and of both.
  const std::int64_t rows = shape.rows / columns;
  const std::int64_t rest_rows = shape.rows % columns;
  const std::int64_t vectors_in_all = CeilDiv(shape.channels, unit.lanes);
  const std::int64_t full = vectors_in_all / vectors;
  const std::int64_t rest = vectors_in_all % vectors;
  const auto step = [&](std::int64_t c, std::int64_t v) {
    return c == 0 || v == 0 ? 0 : StepCycles(c, v, shape.x);
  };
  return static_cast<double>(rows * full) * step(columns, vectors) +
         static_cast<double>(full) * step(rest_rows, vectors) +
         static_cast<double>(rows) * step(columns, rest) + step(rest_rows, rest);
}

// Costs in units of one f32 multiply-add of a core at its peak.

double DirectCost(const ConvShape& shape) {
  return static_cast<double>(shape.out_height * shape.out_width) *
         static_cast<double>(shape.in_channels * shape.out_channels) *
         static_cast<double>(shape.kernel_height * shape.kernel_width);
}

double WinogradCost(const ConvShape& shape, std::int64_t m) {
  const auto tiles =
      static_cast<double>(CeilDiv(shape.out_height, m) * CeilDiv(shape.out_width, m));
  // Products of all points, transforms of input and output tiles, and reading the weights.
  const auto points = static_cast<double>((m + 2) * (m + 2));
  const auto depth = static_cast<double>(shape.in_channels);
  const auto channels = static_cast<double>(shape.out_channels);
  // Each entry of a tile passes through two steps of a few additions, and through memory.
  constexpr double kTransform = 12;
  // The weights come once from beyond the L2 cache: cost of one f32 from there.
  constexpr double kFetch = 8;
  return points * (tiles * depth * channels + kTransform * tiles * (depth + channels) +
                   kFetch * depth * channels);
}

double AlgorithmCost(const ConvShape& shape, ConvAlgorithm algorithm) {
  const std::int64_t m = WinogradTile(algorithm);
  return m > 0 ? WinogradCost(shape, m) : DirectCost(shape);
}

constexpr std::array kAlgorithms = {ConvAlgorithm::kDirect, ConvAlgorithm::kDepthwise,
                                    ConvAlgorithm::kGrouped, ConvAlgorithm::kWinograd2,
                                    ConvAlgorithm::kWinograd4};
constexpr std::array kAlgorithmNames = {"direct", "depthwise", "grouped", "winograd2", "winograd4"};

bool CanJoinRows(const ConvShape& shape) {
  return shape.joinable && shape.unit_steps && shape.kernel_height * shape.kernel_width == 1;
}

/// Returns the product that the algorithm tiles.
ProductShape ProductFor(const ConvShape& shape, const ConvSchedule& schedule) {
  ProductShape product{.rows = shape.out_width,
                       .channels = shape.out_channels,
                       .depth = CeilDiv(shape.in_channels, StepOf(shape.x)),
                       .x = shape.x,
                       .narrow = shape.narrow};
  if (const std::int64_t m = WinogradTile(schedule.algorithm); m > 0) {
    const WinogradTiling tiling = TilingOf(shape.out_height, shape.out_width, m);
    product.rows = tiling.block * tiling.columns;
    return product;
  }
  product.depth *= shape.kernel_height * shape.kernel_width;
  if (schedule.join_rows) product.rows *= shape.out_height;
  return product;
}

bool SpansGroups(ConvAlgorithm algorithm) {
  return algorithm == ConvAlgorithm::kDepthwise || algorithm == ConvAlgorithm::kGrouped;
}

/// Returns the most pixels per register tile where a vector of channels spans groups. Each column
/// of X is loaded once for all taps that use it.
int MostGroupedColumns(const ConvShape& shape, const VectorUnit& unit) {
  // The weights of one row of taps share the registers with the sums; four are left.
  const std::int64_t columns = unit.registers - shape.kernel_width - 4;
  return static_cast<int>(
      std::clamp<std::int64_t>(columns, 1, std::max<std::int64_t>(shape.out_width, 1)));
}

/// Returns whether the direct algorithm is faster with channels outside, for a small image. With
/// rows outside, every row reads all weights from the second-level cache; with channels outside,
/// every tile of channels reads the whole image, and prefetches weights (decision 0016). Several
/// threads share few tiles less evenly than rows.
bool PrefersChannels(const ConvShape& shape, const TileSchedule& tile, const VectorUnit& unit) {
  constexpr std::int64_t kFirstLevel = std::int64_t{32} * 1024;
  constexpr std::int64_t kSmall = std::int64_t{512} * 1024;
  const auto bytes = static_cast<std::int64_t>(ByteSize(shape.x));
  const std::int64_t image = shape.out_height * shape.out_width * shape.in_channels * bytes;
  const std::int64_t weights =
      shape.kernel_height * shape.kernel_width * shape.in_channels * shape.out_channels * bytes;
  const std::int64_t rows = shape.out_height;
  const std::int64_t tiles = CeilDiv(shape.out_channels, std::int64_t{tile.vectors} * unit.lanes);
  return shape.threads == 1 && weights > kFirstLevel && image <= kSmall &&
         image * tiles < weights * rows;
}

/// Returns the pixels per register tile for groups of several channels that take least time for a
/// row: each column of X that a tile reads costs a load and a broadcast, each product one addition.
int DefaultGroupedColumns(const ConvShape& shape, const VectorUnit& unit) {
  const std::int64_t taps = shape.kernel_width;
  const auto cost = [&](std::int64_t columns) {
    return columns == 0 ? 0 : 2 * (columns + taps - 1) + columns * taps;
  };
  int best = 1;
  std::int64_t least = 0;
  for (int columns = 1; columns <= MostGroupedColumns(shape, unit); ++columns) {
    const std::int64_t all =
        shape.out_width / columns * cost(columns) + cost(shape.out_width % columns);
    if (least != 0 && all >= least) continue;
    least = all;
    best = columns;
  }
  return best;
}

/// Returns an algorithm with its own default tile.
ConvSchedule WithDefaultTile(const ConvShape& shape, const VectorUnit& unit,
                             ConvSchedule schedule) {
  if (schedule.algorithm == ConvAlgorithm::kDepthwise) {
    const std::int64_t half = (unit.registers - shape.kernel_width - 4) / 2;
    schedule.tile.columns = static_cast<int>(
        std::clamp<std::int64_t>(half, 1, std::max<std::int64_t>(shape.out_width, 1)));
    return schedule;
  }
  if (schedule.algorithm == ConvAlgorithm::kGrouped) {
    schedule.tile.columns = DefaultGroupedColumns(shape, unit);
    return schedule;
  }
  schedule.tile = DefaultTile(ProductFor(shape, schedule), unit);
  // There is only one row, so threads share tiles of channels.
  const bool one_row = schedule.join_rows || WinogradTile(schedule.algorithm) > 0;
  if (one_row || PrefersChannels(shape, schedule.tile, unit)) {
    schedule.tile.order = LoopOrder::kChannelsOuter;
  }
  return schedule;
}

struct Ranked {
  ConvSchedule schedule;
  double cost;
};

// Penalty of a choice that differs from the default: it may be as fast, but is less likely to be.
constexpr double kOddity = 1.05;
constexpr std::array kUnrolls = {1, 2, 4};

/// Adds all tiles of `product` for the algorithm of `standard`. `cost` is the cost of the algorithm
/// in the unit shared by all algorithms.
void AddTiles(const ProductShape& product, const VectorUnit& unit, const ConvSchedule& standard,
              bool both_orders, double cost, std::vector<Ranked>& all) {
  const auto ideal = static_cast<double>(product.rows * CeilDiv(product.channels, unit.lanes));
  EachTile(product, unit, [&](int columns, int vectors) {
    const double cycles = cost * TileCycles(product, unit, columns, vectors) / ideal;
    for (const int unroll : kUnrolls) {
      for (const LoopOrder order : {LoopOrder::kRowsOuter, LoopOrder::kChannelsOuter}) {
        const bool usual = order == standard.tile.order;
        if (!usual && !both_orders) continue;
        ConvSchedule schedule = standard;
        schedule.tile = {.columns = columns, .vectors = vectors, .unroll = unroll, .order = order};
        all.push_back({schedule, cycles * (usual ? 1 : kOddity) * (unroll == 1 ? 1 : kOddity)});
      }
    }
  });
}

std::vector<ConvSchedule> BestFirst(const ConvSchedule& standard, std::vector<Ranked> all) {
  // Stable, so that schedules of equal cost keep their order in every standard library.
  std::stable_sort(all.begin(), all.end(),
                   [](const Ranked& a, const Ranked& b) { return a.cost < b.cost; });
  std::vector<ConvSchedule> schedules = {standard};
  for (const Ranked& one : all) {
    if (one.schedule != standard) schedules.push_back(one.schedule);
  }
  return schedules;
}

}  // namespace

VectorUnit UnitOf(const Isa& isa) {
  return {.lanes = isa.vector_bytes() / 4,
          .registers = isa.vector_registers(),
          .dot4 = isa.vnni,
          .dot4_narrow = isa.avx2 && !isa.vnni,
          .dot2 = isa.bf16};
}

KernelSchedule ToPlain(const ConvSchedule& schedule) {
  return {.algorithm = kAlgorithmNames.at(static_cast<std::size_t>(schedule.algorithm)),
          .columns = schedule.tile.columns,
          .vectors = schedule.tile.vectors,
          .unroll = schedule.tile.unroll,
          .order = schedule.tile.order == LoopOrder::kRowsOuter ? "rows" : "channels",
          .join_rows = schedule.join_rows};
}

ConvSchedule FromPlain(const KernelSchedule& schedule) {
  const auto* const name =
      std::find(kAlgorithmNames.begin(), kAlgorithmNames.end(), schedule.algorithm);
  const auto algorithm = static_cast<std::size_t>(name - kAlgorithmNames.begin());
  return {.algorithm = kAlgorithms.at(algorithm),
          .join_rows = schedule.join_rows,
          .tile = {.columns = static_cast<int>(schedule.columns),
                   .vectors = static_cast<int>(schedule.vectors),
                   .unroll = static_cast<int>(schedule.unroll),
                   .order = schedule.order == "rows" ? LoopOrder::kRowsOuter
                                                     : LoopOrder::kChannelsOuter}};
}

std::optional<ConvSchedule> ChosenFor(const Node& node) {
  const std::string text = AttrOr(node, kScheduleAttr, std::string());
  if (text.empty()) return std::nullopt;
  return FromPlain(ScheduleFromText(text, "the schedule of node '" + node.name + "'"));
}

TileSchedule DefaultTile(const ProductShape& shape, const VectorUnit& unit) {
  TileSchedule best;
  double best_cycles = 0;
  EachTile(shape, unit, [&](int columns, int vectors) {
    const double cycles = TileCycles(shape, unit, columns, vectors);
    // Tiles within 0.5 % of each other count as equal; of these, the larger tile wins.
    const bool better =
        best_cycles == 0 || cycles < 0.995 * best_cycles ||
        (cycles < 1.005 * best_cycles && columns * vectors > best.columns * best.vectors);
    if (!better) return;
    best_cycles = cycles;
    best.columns = columns;
    best.vectors = vectors;
  });
  // Weights that fit in the L2 cache are best read again for every row.
  constexpr std::int64_t kCacheBytes = std::int64_t{512} * 1024;
  const std::int64_t weight_bytes =
      shape.depth * CeilDiv(shape.channels, unit.lanes) * unit.lanes * 4;
  best.order = weight_bytes <= kCacheBytes ? LoopOrder::kRowsOuter : LoopOrder::kChannelsOuter;
  return best;
}

ConvSchedule DefaultGemm(const ProductShape& shape, const VectorUnit& unit) {
  ConvSchedule schedule{.tile = DefaultTile(shape, unit)};
  schedule.tile.order = LoopOrder::kChannelsOuter;
  return schedule;
}

bool SupportsShape(const ConvSchedule& schedule, const ConvShape& shape, const VectorUnit& unit) {
  switch (schedule.algorithm) {
    case ConvAlgorithm::kDirect:
      return !schedule.join_rows || CanJoinRows(shape);
    case ConvAlgorithm::kDepthwise:
      return shape.depthwise && !schedule.join_rows;
    case ConvAlgorithm::kGrouped:
      return shape.x == DType::kF32 && shape.groups > 1 && shape.in_channels > 1 &&
             shape.in_channels == shape.out_channels && unit.lanes % shape.in_channels == 0 &&
             !schedule.join_rows;
    case ConvAlgorithm::kWinograd2:
    case ConvAlgorithm::kWinograd4:
      // The points of a tile take the place of the groups. Sums of four and more entries of a tile
      // do not fit in bytes, and bf16 would round them to 8 bits. The transforms work on vectors of
      // channels.
      return shape.kernel_height == 3 && shape.kernel_width == 3 && shape.unit_steps &&
             shape.groups == 1 && shape.in_channels >= unit.lanes &&
             shape.out_channels >= unit.lanes && shape.x == DType::kF32 && !schedule.join_rows;
  }
  return false;
}

ConvSchedule DefaultConv(const ConvShape& shape, const VectorUnit& unit) {
  ConvSchedule schedule;
  if (shape.depthwise) {
    schedule.algorithm = ConvAlgorithm::kDepthwise;
    return WithDefaultTile(shape, unit, schedule);
  }
  // A direct product would leave lanes of every vector unused.
  const ConvSchedule grouped{.algorithm = ConvAlgorithm::kGrouped};
  if (shape.out_channels < unit.lanes && SupportsShape(grouped, shape, unit)) {
    return WithDefaultTile(shape, unit, grouped);
  }
  double best = DirectCost(shape);
  for (const ConvAlgorithm algorithm : {ConvAlgorithm::kWinograd2, ConvAlgorithm::kWinograd4}) {
    if (!SupportsShape({.algorithm = algorithm, .join_rows = false}, shape, unit)) continue;
    const double cost = AlgorithmCost(shape, algorithm);
    if (cost >= best) continue;
    best = cost;
    schedule.algorithm = algorithm;
  }
  // A small image with single taps becomes one row of pixels, so that fewer tiles are partial.
  constexpr std::int64_t kSmallImage = std::int64_t{32} * 32;
  schedule.join_rows = CanJoinRows(shape) && shape.out_height * shape.out_width <= kSmallImage;
  return WithDefaultTile(shape, unit, schedule);
}

std::vector<ConvSchedule> ConvSchedules(const ConvShape& shape, const VectorUnit& unit) {
  std::vector<Ranked> all;
  for (const ConvAlgorithm algorithm : kAlgorithms) {
    for (const bool join : {false, true}) {
      const ConvSchedule plain{.algorithm = algorithm, .join_rows = join};
      if (!SupportsShape(plain, shape, unit)) continue;
      const ConvSchedule standard = WithDefaultTile(shape, unit, plain);
      const double cost = AlgorithmCost(shape, algorithm);
      if (SpansGroups(algorithm)) {
        // Prefers columns near the default. A direct product fills one lane of a vector here, or as
        // many as a group has channels.
        const double lanes =
            static_cast<double>(shape.out_channels) / static_cast<double>(unit.lanes);
        const double least = cost * (algorithm == ConvAlgorithm::kDepthwise ? 1e-3 : lanes);
        for (int columns = 1; columns <= MostGroupedColumns(shape, unit); ++columns) {
          ConvSchedule schedule = standard;
          schedule.tile.columns = columns;
          const int off = columns - standard.tile.columns;
          all.push_back({schedule, least * (1 + 0.01 * static_cast<double>(off * off))});
        }
        continue;
      }
      const bool both = WinogradTile(algorithm) == 0 && !join;
      AddTiles(ProductFor(shape, plain), unit, standard, both, cost, all);
    }
  }
  return BestFirst(DefaultConv(shape, unit), std::move(all));
}

std::vector<ConvSchedule> GemmSchedules(const ProductShape& shape, const VectorUnit& unit) {
  std::vector<Ranked> all;
  const ConvSchedule standard = DefaultGemm(shape, unit);
  AddTiles(shape, unit, standard, false, 1, all);
  return BestFirst(standard, std::move(all));
}

WinogradTiling TilingOf(std::int64_t out_height, std::int64_t out_width, std::int64_t m) {
  // Enough tiles to read the transformed weights rarely, and few enough to stay in cache.
  // With m = 4 and 64 channels in and out, 32 tiles of 36 points take 576 KiB in f32.
  constexpr std::int64_t kTilesAtOnce = 32;
  WinogradTiling tiling{.m = m,
                        .side = m + 2,
                        .rows = CeilDiv(out_height, m),
                        .columns = CeilDiv(out_width, m),
                        .block = 1};
  // Chooses a divisor, so that blocks are equal: the one nearest to `wanted` by ratio.
  const double wanted = static_cast<double>(kTilesAtOnce) / static_cast<double>(tiling.columns);
  double best = 0;
  for (std::int64_t block = 1; block <= tiling.rows; ++block) {
    if (tiling.rows % block != 0) continue;
    const double ratio = static_cast<double>(block) / wanted;
    const double closeness = std::min(ratio, 1 / ratio);
    if (closeness <= best) continue;
    best = closeness;
    tiling.block = block;
  }
  return tiling;
}

std::int64_t WinogradTile(ConvAlgorithm algorithm) {
  switch (algorithm) {
    case ConvAlgorithm::kDirect:
    case ConvAlgorithm::kDepthwise:
    case ConvAlgorithm::kGrouped:
      return 0;
    case ConvAlgorithm::kWinograd2:
      return 2;
    case ConvAlgorithm::kWinograd4:
      return 4;
  }
  return 0;
}

}  // namespace msc::native
