#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/ir/graph.h"
#include "compiler/strategy/schedule.h"

namespace msc {
struct Isa;
}

namespace msc::native {

/// The properties of a CPU that schedules depend on, from its instruction set.
struct VectorUnit {
  int lanes = 4;       ///< f32 elements per vector register
  int registers = 16;  ///< vector registers
  bool dot4 = false;   ///< u8 x i8 products summed in i32 by one instruction (VNNI)
  /// Such products that fit in i16 in pairs, summed by three instructions (AVX2 without VNNI). All
  /// others take eight.
  bool dot4_narrow = false;
  bool dot2 = false;  ///< bf16 products summed in f32 (AVX512-BF16)
};
[[nodiscard]] VectorUnit UnitOf(const Isa& isa);

enum class LoopOrder : std::uint8_t {
  kRowsOuter,      ///< rows outside, channels inside: all weights stay in cache
  kChannelsOuter,  ///< channels outside: the weights of one channel tile stay in cache
};

enum class ConvAlgorithm : std::uint8_t {
  kDirect,
  kDepthwise,  ///< one input channel per group: no sum over channels
  kGrouped,    ///< few channels per group: a vector of channels holds whole groups
  kWinograd2,  ///< F(2x2, 3x3), Lavin and Gray 2016
  kWinograd4,  ///< F(4x4, 3x3)
};

/// The tiling of a convolution or matrix product. All sizes are at least 1.
struct TileSchedule {
  int columns = 1;  ///< output pixels (or matrix rows) per register tile
  int vectors = 1;  ///< vectors of output channels per register tile
  int unroll = 1;   ///< unrolled steps of the sum
  LoopOrder order = LoopOrder::kRowsOuter;
  bool operator==(const TileSchedule&) const = default;
};

struct ConvSchedule {
  ConvAlgorithm algorithm = ConvAlgorithm::kDirect;
  bool join_rows = false;  ///< the image as one row of pixels; no gaps between its rows
  TileSchedule tile = {};  ///< of the products within the algorithm
  bool operator==(const ConvSchedule&) const = default;
};

/// Converts between a schedule and the plain form in which strategies store it.
[[nodiscard]] KernelSchedule ToPlain(const ConvSchedule& schedule);
[[nodiscard]] ConvSchedule FromPlain(const KernelSchedule& schedule);
/// Returns the schedule in the attribute of a node, if there is one. UserError if it is malformed.
[[nodiscard]] std::optional<ConvSchedule> ChosenFor(const Node& node);

/// Returns the number of entries of X that one lane takes per step of a sum: as many as fill four
/// bytes.
[[nodiscard]] constexpr std::int64_t StepOf(DType x) {
  return x == DType::kF32 ? 1 : x == DType::kBF16 ? 2 : 4;
}

/// Sizes of a product Y[rows, channels] += X[rows, depth] * W[depth, channels].
struct ProductShape {
  std::int64_t rows = 1;      ///< in one run of equally spaced rows (an output row of an image)
  std::int64_t channels = 1;  ///< output channels
  std::int64_t depth = 1;     ///< steps of each sum
  DType x = DType::kF32;      ///< type of X: f32, bf16, i8 or u8
  bool narrow = false;        ///< as Product::narrow
};

/// Returns the tile that wastes least by a model of the register file and the load ports.
[[nodiscard]] TileSchedule DefaultTile(const ProductShape& shape, const VectorUnit& unit);

/// Returns the default schedule of a matrix product. It has one run of rows, so threads share tiles
/// of channels.
[[nodiscard]] ConvSchedule DefaultGemm(const ProductShape& shape, const VectorUnit& unit);

/// Sizes that decide between the algorithms of a convolution.
struct ConvShape {
  std::int64_t out_height = 1;
  std::int64_t out_width = 1;
  std::int64_t in_channels = 1;   ///< per group
  std::int64_t out_channels = 1;  ///< per group
  std::int64_t groups = 1;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  bool unit_steps = true;  ///< strides and dilations are all 1
  bool joinable = true;    ///< no gaps between the rows of an image
  bool depthwise = false;  ///< the kernel for one input channel per group supports it
  DType x = DType::kF32;   ///< type of X: f32, bf16, i8 or u8
  bool narrow = false;     ///< as Product::narrow
  int threads = 1;         ///< that share the outermost loop of a kernel
};
[[nodiscard]] ConvSchedule DefaultConv(const ConvShape& shape, const VectorUnit& unit);

/// Returns whether the algorithm supports this shape. Whether the tile fits the registers affects
/// only speed.
[[nodiscard]] bool SupportsShape(const ConvSchedule& schedule, const ConvShape& shape,
                                 const VectorUnit& unit);

/// Return every schedule of a shape: all algorithms that apply, with all tiles that fit the
/// registers. The default comes first, then the others by predicted speed.
[[nodiscard]] std::vector<ConvSchedule> ConvSchedules(const ConvShape& shape,
                                                      const VectorUnit& unit);
[[nodiscard]] std::vector<ConvSchedule> GemmSchedules(const ProductShape& shape,
                                                      const VectorUnit& unit);

/// How Winograd's algorithm cuts an image into tiles of m x m output pixels.
struct WinogradTiling {
  std::int64_t m = 2;        ///< pixels along a side of a tile
  std::int64_t side = 4;     ///< m + 2
  std::int64_t rows = 1;     ///< rows of tiles
  std::int64_t columns = 1;  ///< columns of tiles
  std::int64_t block = 1;    ///< rows of tiles computed together; divides `rows`
};
[[nodiscard]] WinogradTiling TilingOf(std::int64_t out_height, std::int64_t out_width,
                                      std::int64_t m);
/// Returns the output pixels along one side of a Winograd tile; 0 for other algorithms.
[[nodiscard]] std::int64_t WinogradTile(ConvAlgorithm algorithm);

}  // namespace msc::native
