#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A constant whose elements belong to channels of an activation.
struct ChannelConstant {
  NodeId node = kNoNode;  ///< that reads it
  std::size_t input = 0;
  std::vector<std::int32_t> channel_of;  ///< of each element, row-major
};

/// An activation whose channels can be divided by positive numbers in what makes it and multiplied
/// by them again in all that reads it, so that the model computes what it did.
///
/// It is made by a Conv, Gemm or MatMul with constant weights, a constant bias, and no activation
/// or one that commutes with positive factors (Relu, LeakyRelu, PRelu; not Clip, so not Relu6), or
/// by LayerNormalization. It is read by Conv, Gemm and MatMul with constant weights, directly or
/// through pools, Flatten, and Transpose and Reshape that leave the channels last.
struct RescaleLink {
  std::string value;  ///< name of the activation
  bool from_norm = false;
  std::int64_t channels = 0;
  std::size_t axis = 1;  ///< of the channels in the activation
  std::vector<ChannelConstant> makers;
  std::vector<ChannelConstant> readers;
};
/// In graph order. `canonical` has its types.
[[nodiscard]] std::vector<RescaleLink> FindRescaleLinks(const Graph& canonical);

/// Largest magnitude a channel has in any of the constants.
[[nodiscard]] std::vector<float> ChannelMaxima(const Graph& graph,
                                               std::span<const ChannelConstant> constants,
                                               std::int64_t channels);

/// Divides by 2^exponents[c] in the makers of the link, multiplies in the readers. Exact in f32 as
/// long as nothing leaves the range of normal numbers: the outputs stay as they are in every bit.
void RescaleChannels(const RescaleLink& link, std::span<const int> exponents, Graph& graph);

/// 2^exponent is what SmoothQuant divides channel c by, to the nearest power of two:
/// activation[c]^alpha / weight[c]^(1 - alpha), relative to the geometric mean of all channels; 0
/// for channels where either is 0. `alpha` in [0, 1].
/// Source: Xiao et al. 2022 (arXiv 2211.10438) equation 4.
[[nodiscard]] std::vector<int> SmoothingExponents(std::span<const float> activation,
                                                  std::span<const float> weight, double alpha);

/// Cross-layer equalization, a pass: makes the largest weights of a channel equal, to within a
/// factor of two, in the layer that makes it and in those that read it. LayerNormalization is left
/// alone. Scales are powers of two, so that f32 outputs do not change in any bit.
/// Source: Nagel et al. 2019 (arXiv 1906.04721) section 4.1.
bool EqualizeLayers(Graph& graph);

}  // namespace msc
