#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc::cost {

/// Returns the features that decide how long a region takes, as far as its shape shows:
/// - work of its layers by kind, also with channels filled up to whole vectors;
/// - bytes by what is done with them: read, written and kept inside; bytes of weights;
/// - nodes by kind;
/// - of the layer with the most work: kernel, stride, groups, channels, positions and type.
///
/// `region` is a separate graph with known sizes; `cold_bytes` is that of RegionTiming. All
/// features are finite; sizes are log2(1 + size).
[[nodiscard]] std::vector<double> RegionFeatures(const Graph& region, std::int64_t cold_bytes);
/// Returns the number of features.
[[nodiscard]] std::size_t RegionFeatureCount();

/// Returns the terms of which a region's time may be a weighted sum (FitSum): work, bytes, node
/// counts and the constant 1, all at least 0. `features` come from RegionFeatures.
[[nodiscard]] std::vector<double> WorkTerms(std::span<const double> features);
/// Returns whether the region has a convolution or matrix product, from its features.
[[nodiscard]] bool HasLayer(std::span<const double> features);

}  // namespace msc::cost
