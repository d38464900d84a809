#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/ops/fused.h"
#include "compiler/targets/native/epilogue.h"

namespace msc::native {

/// A Conv or msc.Conv with constant weights over two spatial axes.
struct ConvProblem {
  ValueId x = kNoValue;
  TensorPtr weights;  ///< [channels, depth, kernel_h, kernel_w]; i8 if X is quantized, bf16 if X is
                      ///< bf16, else f32
  bool quantized = false;                     ///< whether X is i8 or u8
  std::int64_t x_zero = 0;                    ///< zero point of X
  std::vector<std::int32_t> whole_bias = {};  ///< result of WholeBias
  /// With resolved pads, and without the outer taps that read nothing but padding.
  Window window = {};
  /// Row and column of the window's first tap in the weights.
  std::array<std::int64_t, 2> first_tap = {};
  Dims x_dims;
  Dims out_dims;
  ConvShape shape = {};
  ConvSchedule schedule = {};  ///< the schedule in use
  bool chosen = false;         ///< whether an attribute of the node chose it

  [[nodiscard]] std::int64_t depth() const { return weights->dims()[1]; }
  [[nodiscard]] std::int64_t channels() const { return weights->dims()[0]; }
  [[nodiscard]] bool depthwise() const {
    return depth() == 1 && channels() == window.group && window.group == x_dims[1];
  }
  [[nodiscard]] double flops() const;
  /// Reads weights [c, k, tap of the window] for k = 0, 1, ...; whole numbers for i8.
  void ReadWeights(std::int64_t c, std::int64_t tap, std::span<float> out) const;
  /// Returns weight [c, 0, tap].
  [[nodiscard]] float weight(std::int64_t c, std::int64_t tap) const;
};
/// Returns nullopt for other operators and for forms that the native kernels do not support.
[[nodiscard]] std::optional<ConvProblem> ReadConv(const Lowering& lowering, const Node& node);

/// Returns the border around X that the kernel of the schedule reads; its entries mean the real 0.
[[nodiscard]] Halo HaloOf(const ConvProblem& problem);

/// Returns X with adjacent channels and a halo, offset to the first tap of the first pixel.
[[nodiscard]] View FirstTaps(Lowering& lowering, const ConvProblem& problem);

/// Each of these adds the calls of one algorithm.
void LowerDirectConv(Lowering& lowering, const Group& group, const ConvProblem& problem);
void LowerGrouped(Lowering& lowering, const Group& group, const ConvProblem& problem);
void LowerWinograd(Lowering& lowering, const Group& group, const ConvProblem& problem);

}  // namespace msc::native
