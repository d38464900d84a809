#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A constant each of whose elements belongs to a channel of an activation.
struct ChannelConstant {
  NodeId node = kNoNode;  ///< the node that reads it
  std::size_t input = 0;
  std::vector<std::int32_t> channel_of = {};  ///< channel of each element, row-major
};

/// An activation whose channels can be divided by positive numbers where they are made, and
/// multiplied by them again in everything that reads them, without changing the model's results.
///
/// A Conv, Gemm or MatMul makes it, with constant weights, a constant bias, and no activation
/// function or one that commutes with positive factors (Relu, LeakyRelu, PRelu; not Clip, thus not
/// Relu6); or a LayerNormalization. Conv, Gemm and MatMul with constant weights read it, directly
/// or through pools, Flatten, and Transpose and Reshape that leave the channels last.
struct RescaleLink {
  std::string value;  ///< name of the activation
  bool from_norm = false;
  std::int64_t channels = 0;
  std::size_t axis = 1;  ///< axis of the channels in the activation
  std::vector<ChannelConstant> makers;
  std::vector<ChannelConstant> readers;
};
/// Returns all such activations, in graph order. `canonical` must have types.
[[nodiscard]] std::vector<RescaleLink> FindRescaleLinks(const Graph& canonical);

/// Returns for each channel the largest magnitude in any of the constants.
[[nodiscard]] std::vector<float> ChannelMaxima(const Graph& graph,
                                               std::span<const ChannelConstant> constants,
                                               std::int64_t channels);

/// Divides channel c by 2^exponents[c] in the makers of the link, and multiplies it in the readers.
/// Exact in f32 as long as all numbers stay normal: the model's outputs do not change in any bit.
void RescaleChannels(const RescaleLink& link, std::span<const int> exponents, Graph& graph);

/// Returns exponents of the factors by which SmoothQuant divides channels, to the nearest power of
/// two: activation[c]^alpha / weight[c]^(1 - alpha), relative to the geometric mean of all
/// channels; 0 for channels in which either is 0. `alpha` is in [0, 1].
/// Source: Xiao et al. 2022 (arXiv 2211.10438) equation 4.
[[nodiscard]] std::vector<int> SmoothingExponents(std::span<const float> activation,
                                                  std::span<const float> weight, double alpha);

/// Cross-layer equalization, a pass: makes the largest weights of a channel equal, to within a
/// factor of two, in the layer that makes the channel and in the layers that read it. Does not
/// change LayerNormalization. Factors are powers of two, so that f32 outputs do not change in any
/// bit. Returns whether it changed anything.
/// Source: Nagel et al. 2019 (arXiv 1906.04721) section 4.1.
bool EqualizeLayers(Graph& graph);

}  // namespace msc
