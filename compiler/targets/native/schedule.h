#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace msc::native {

/// What the schedules must know of a CPU: one row of a small table, chosen by its flags.
struct VectorUnit {
  int lanes = 4;       ///< f32 elements of a vector register
  int registers = 16;  ///< vector registers
  bool dot4 = false;   ///< u8 x i8 products summed in i32 (VNNI)
  bool dot2 = false;   ///< bf16 products summed in f32 (AVX512-BF16)
};

enum class LoopOrder : std::uint8_t {
  kRowsOuter,      ///< output rows outside, channels inside: all weights stay in cache
  kChannelsOuter,  ///< the weights of one channel tile stay in cache
};

enum class ConvAlgorithm : std::uint8_t {
  kDirect,
  kWinograd2,  ///< F(2x2, 3x3), Lavin and Gray 2016
  kWinograd4,  ///< F(4x4, 3x3)
};

/// How a convolution or matrix product is tiled. All sizes >= 1.
struct TileSchedule {
  int columns = 1;  ///< output pixels (or rows of a matrix) of one register tile
  int vectors = 1;  ///< vectors of output channels of one register tile
  LoopOrder order = LoopOrder::kRowsOuter;
  bool operator==(const TileSchedule&) const = default;
};

struct ConvSchedule {
  ConvAlgorithm algorithm = ConvAlgorithm::kDirect;
  TileSchedule tile;
  bool operator==(const ConvSchedule&) const = default;
};

/// Sizes of a product Y[rows, channels] += X[rows, depth] * W[depth, channels].
struct ProductShape {
  std::int64_t rows = 1;      ///< of one run of equally spaced rows (an output row of an image)
  std::int64_t channels = 1;  ///< output channels
  std::int64_t depth = 1;     ///< steps summed over: one f32, or four products of bytes, a lane
  bool bytes = false;         ///< products of u8 and i8
};

/// The tile that wastes least by a model of the register file and the load ports.
[[nodiscard]] TileSchedule DefaultTile(const ProductShape& shape, const VectorUnit& unit);

/// Sizes that decide between the algorithms of a convolution.
struct ConvShape {
  std::int64_t out_height = 1;
  std::int64_t out_width = 1;
  std::int64_t in_channels = 1;   ///< of one group
  std::int64_t out_channels = 1;  ///< of one group
  std::int64_t groups = 1;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  bool unit_steps = true;  ///< strides and dilations are all 1
  bool bytes = false;      ///< products of u8 and i8
};
[[nodiscard]] ConvSchedule DefaultConv(const ConvShape& shape, const VectorUnit& unit);

}  // namespace msc::native
