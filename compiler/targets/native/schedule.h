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

/// What the schedules must know of a CPU: one row of a small table, chosen by its flags.
struct VectorUnit {
  int lanes = 4;       ///< f32 elements of a vector register
  int registers = 16;  ///< vector registers
  bool dot4 = false;   ///< u8 x i8 products summed in i32 (VNNI)
  bool dot2 = false;   ///< bf16 products summed in f32 (AVX512-BF16)
};
[[nodiscard]] VectorUnit UnitOf(const Isa& isa);

enum class LoopOrder : std::uint8_t {
  kRowsOuter,      ///< output rows outside, channels inside: all weights stay in cache
  kChannelsOuter,  ///< the weights of one channel tile stay in cache
};

enum class ConvAlgorithm : std::uint8_t {
  kDirect,
  kDepthwise,  ///< one input channel a group: no sum over channels
  kWinograd2,  ///< F(2x2, 3x3), Lavin and Gray 2016
  kWinograd4,  ///< F(4x4, 3x3)
};

/// How a convolution or matrix product is tiled. All sizes >= 1.
struct TileSchedule {
  int columns = 1;  ///< output pixels (or rows of a matrix) of one register tile
  int vectors = 1;  ///< vectors of output channels of one register tile
  int unroll = 1;   ///< steps of the sum written out behind each other
  LoopOrder order = LoopOrder::kRowsOuter;
  bool operator==(const TileSchedule&) const = default;
};

struct ConvSchedule {
  ConvAlgorithm algorithm = ConvAlgorithm::kDirect;
  bool join_rows = false;  ///< the image as one row of pixels, where no gaps lie between its rows
  TileSchedule tile;       ///< of the products that the algorithm is made of
  bool operator==(const ConvSchedule&) const = default;
};

/// The same as plain data, in which strategies hold it, and back.
[[nodiscard]] KernelSchedule ToPlain(const ConvSchedule& schedule);
[[nodiscard]] ConvSchedule FromPlain(const KernelSchedule& schedule);
/// What the attribute of a node asks for. UserError where it is malformed.
[[nodiscard]] std::optional<ConvSchedule> ChosenFor(const Node& node);

/// Entries of X that one lane takes in one step of a sum: what fits four bytes.
[[nodiscard]] constexpr std::int64_t StepOf(DType x) {
  return x == DType::kF32 ? 1 : x == DType::kBF16 ? 2 : 4;
}

/// Sizes of a product Y[rows, channels] += X[rows, depth] * W[depth, channels].
struct ProductShape {
  std::int64_t rows = 1;      ///< of one run of equally spaced rows (an output row of an image)
  std::int64_t channels = 1;  ///< output channels
  std::int64_t depth = 1;     ///< steps summed over
  DType x = DType::kF32;      ///< what is multiplied: f32, bf16, i8 or u8
};

/// The tile that wastes least by a model of the register file and the load ports.
[[nodiscard]] TileSchedule DefaultTile(const ProductShape& shape, const VectorUnit& unit);

/// Matrix products have one run of rows: tiles of channels are what threads share.
[[nodiscard]] ConvSchedule DefaultGemm(const ProductShape& shape, const VectorUnit& unit);

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
  bool joinable = true;    ///< no gaps between the rows of the images
  bool depthwise = false;  ///< the kernel for one input channel a group takes it
  DType x = DType::kF32;   ///< what is multiplied: f32, bf16, i8 or u8
};
[[nodiscard]] ConvSchedule DefaultConv(const ConvShape& shape, const VectorUnit& unit);

/// Whether the algorithm is one for this shape. How the tile fits the registers is a matter of
/// speed alone.
[[nodiscard]] bool Applies(const ConvSchedule& schedule, const ConvShape& shape,
                           const VectorUnit& unit);

/// Every schedule that a shape can have: all algorithms that apply, with all tiles that the
/// registers hold. First the default, then what should be fast by the model of the default.
[[nodiscard]] std::vector<ConvSchedule> ConvSchedules(const ConvShape& shape,
                                                      const VectorUnit& unit);
[[nodiscard]] std::vector<ConvSchedule> GemmSchedules(const ProductShape& shape,
                                                      const VectorUnit& unit);

/// How an image is cut into the m x m pixels that one tile of Winograd's algorithm makes.
struct WinogradTiling {
  std::int64_t m = 2;        ///< pixels along a side of a tile
  std::int64_t side = 4;     ///< m + 2
  std::int64_t rows = 1;     ///< tiles
  std::int64_t columns = 1;  ///< tiles
  std::int64_t block = 1;    ///< rows of tiles computed together, a divisor of `rows`
};
[[nodiscard]] WinogradTiling TilingOf(std::int64_t out_height, std::int64_t out_width,
                                      std::int64_t m);
/// Output pixels along one side of a Winograd tile; 0 for other algorithms.
[[nodiscard]] std::int64_t WinogradTile(ConvAlgorithm algorithm);

}  // namespace msc::native
