#include "compiler/targets/native/schedule.h"

#include <algorithm>
#include <array>
#include <utility>

namespace msc::native {
namespace {

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Cycles of one step of the depth loop, in units of one vector FMA a cycle.
double StepCycles(std::int64_t columns, std::int64_t vectors, bool bytes) {
  const auto products = static_cast<double>(columns * vectors);
  // Two loads a cycle for scalars, one for whole vectors. Four bytes in every lane are such; an f32
  // is spread by the multiplication that reads it.
  const double spread = bytes ? 1 : 0.5;
  const double loads = static_cast<double>(vectors) + spread * static_cast<double>(columns);
  // A sum waits four cycles for itself.
  constexpr double kLatency = 4;
  return std::max({products, loads, kLatency});
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
  const auto points = static_cast<double>((m + 2) * (m + 2));
  const auto depth = static_cast<double>(shape.in_channels);
  const auto channels = static_cast<double>(shape.out_channels);
  // Each entry of a tile goes through two steps of a few additions, and memory.
  constexpr double kTransform = 12;
  // Weights come from beyond the second-level cache once: cost of one f32 there.
  constexpr double kFetch = 8;
  return points * (tiles * depth * channels + kTransform * tiles * (depth + channels) +
                   kFetch * depth * channels);
}

}  // namespace

TileSchedule DefaultTile(const ProductShape& shape, const VectorUnit& unit) {
  constexpr int kMaxVectors = 4;
  constexpr int kMaxByteColumns = 12;
  const std::int64_t vectors_in_all = CeilDiv(shape.channels, unit.lanes);
  TileSchedule best;
  double best_cycles = 0;
  for (int vectors = 1; vectors <= kMaxVectors; ++vectors) {
    if (vectors > vectors_in_all && vectors > 1) break;
    // The rest of the registers holds the weights of one step and a broadcast element.
    // Bytes take another: 128 for i8, and the compiler's room to move. Without an instruction for
    // four products they are widened into as many again.
    const int more = !shape.bytes ? 0 : unit.dot4 ? 2 : vectors + 2;
    const int fitting = (unit.registers - vectors - 1 - more) / vectors;
    // Compilers load many columns at once, and then lack registers.
    const int max_columns = std::max(1, shape.bytes ? std::min(fitting, kMaxByteColumns) : fitting);
    for (int columns = 1; columns <= max_columns; ++columns) {
      if (columns > shape.rows && columns > 1) break;
      const auto tiles = [](std::int64_t total, std::int64_t tile) {
        return std::array{total / tile, total % tile};
      };
      const auto [rows, rest_rows] = tiles(shape.rows, columns);
      const auto [full, rest] = tiles(vectors_in_all, vectors);
      const auto step = [&](std::int64_t c, std::int64_t v) {
        return c == 0 || v == 0 ? 0 : StepCycles(c, v, shape.bytes);
      };
      const double cycles = static_cast<double>(rows * full) * step(columns, vectors) +
                            static_cast<double>(full) * step(rest_rows, vectors) +
                            static_cast<double>(rows) * step(columns, rest) + step(rest_rows, rest);
      const bool better =
          best_cycles == 0 || cycles < 0.995 * best_cycles ||
          (cycles < 1.005 * best_cycles && columns * vectors > best.columns * best.vectors);
      if (!better) continue;
      best_cycles = cycles;
      best.columns = columns;
      best.vectors = vectors;
    }
  }
  // Weights that stay in the second-level cache are best read again for every row.
  constexpr std::int64_t kCacheBytes = 512 * 1024;
  const std::int64_t weight_bytes = shape.depth * vectors_in_all * unit.lanes * 4;
  best.order = weight_bytes <= kCacheBytes ? LoopOrder::kRowsOuter : LoopOrder::kChannelsOuter;
  return best;
}

ConvSchedule DefaultConv(const ConvShape& shape, const VectorUnit& unit) {
  ConvSchedule schedule;
  const std::int64_t step = shape.bytes ? 4 : 1;
  const std::int64_t depth = CeilDiv(shape.in_channels, step);
  schedule.tile = DefaultTile({.rows = shape.out_width,
                               .channels = shape.out_channels,
                               .depth = depth * shape.kernel_height * shape.kernel_width,
                               .bytes = shape.bytes},
                              unit);
  if (shape.bytes) return schedule;
  const bool fits = shape.kernel_height == 3 && shape.kernel_width == 3 && shape.unit_steps &&
                    shape.groups == 1 && shape.in_channels >= unit.lanes &&
                    shape.out_channels >= unit.lanes;
  if (!fits) return schedule;
  double best = DirectCost(shape);
  for (const auto& [algorithm, m] :
       {std::pair{ConvAlgorithm::kWinograd2, 2}, std::pair{ConvAlgorithm::kWinograd4, 4}}) {
    const double cost = WinogradCost(shape, m);
    if (cost >= best) continue;
    best = cost;
    schedule.algorithm = algorithm;
  }
  return schedule;
}

}  // namespace msc::native
