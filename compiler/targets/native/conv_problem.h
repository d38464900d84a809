#pragma once

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
  TensorPtr weights;        ///< [channels, depth, kernel_h, kernel_w]; i8 where X is quantized,
                            ///< bf16 where it is that
  bool quantized = false;   ///< whether X is i8 or u8
  std::int64_t x_zero = 0;  ///< its zero point
  std::vector<std::int32_t> whole_bias;  ///< as WholeBias has it
  Window window;                         ///< pads resolved
  Dims x_dims;
  Dims out_dims;
  ConvShape shape;
  ConvSchedule schedule;  ///< that will be used
  bool chosen = false;    ///< by an attribute of the node

  [[nodiscard]] std::int64_t depth() const { return weights->dims()[1]; }
  [[nodiscard]] std::int64_t channels() const { return weights->dims()[0]; }
  [[nodiscard]] bool depthwise() const {
    return depth() == 1 && channels() == window.group && window.group == x_dims[1];
  }
  [[nodiscard]] double flops() const;
  /// Weights [c, k, tap] for k = 0, 1, ..., whole numbers where they are i8.
  void ReadWeights(std::int64_t c, std::int64_t tap, std::span<float> out) const;
  /// That of k = 0.
  [[nodiscard]] float weight(std::int64_t c, std::int64_t tap) const;
};
/// Nothing where the node is another operator or of a form the native kernels do not take.
[[nodiscard]] std::optional<ConvProblem> ReadConv(const Lowering& lowering, const Node& node);

/// Real zeros that the schedule's kernel reads around X.
[[nodiscard]] Halo HaloOf(const ConvProblem& problem);

/// X with channels side by side and a halo, moved to the first tap of the first pixel.
[[nodiscard]] View FirstTaps(Lowering& lowering, const ConvProblem& problem);

/// Each of these adds the calls of one algorithm.
void LowerDirectConv(Lowering& lowering, const Group& group, const ConvProblem& problem);
void LowerDepthwise(Lowering& lowering, const Group& group, const ConvProblem& problem);
void LowerWinograd(Lowering& lowering, const Group& group, const ConvProblem& problem);

}  // namespace msc::native
