#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc::cost {

/// What decides how long a region takes, as far as its shape tells: work of its layers by their
/// kind, and that of channels filled up to whole vectors; bytes by what is done with them, read,
/// written and kept inside; weights; nodes by kind; and of the layer with most work kernel, stride,
/// groups, channels, places and type. `region` is a graph of its own with known sizes; `cold_bytes`
/// as in RegionTiming. Finite; sizes by their logarithm.
[[nodiscard]] std::vector<double> RegionFeatures(const Graph& region, std::int64_t cold_bytes);
/// How many these are.
[[nodiscard]] std::size_t RegionFeatureCount();

/// Of what a region has so much that its time may be a sum over it: work, bytes and nodes, and 1,
/// all at least 0. From RegionFeatures of any region.
[[nodiscard]] std::vector<double> WorkTerms(std::span<const double> features);
/// Whether the region has a convolution or product, from its features.
[[nodiscard]] bool HasLayer(std::span<const double> features);

}  // namespace msc::cost
