#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"

namespace msc::cost {

/// The function that gave an output its numbers.
enum class EndFunction : unsigned char {
  kOther,       ///< OutputEnd::axis is that of the channels of the layer that made the numbers
  kSoftmax,     ///< along OutputEnd::axis
  kLogSoftmax,  ///< the same
  kSigmoid,
  kUnitNorm,    ///< divides vectors along the last axis by their Euclidean norm
  kBoxes,       ///< boxes and sigmoids side by side along OutputEnd::axis
  kSelection,   ///< non-maximum suppression: rows that the model selected
  kWhole,       ///< whole numbers: a Cast of integers, or Round
  kCorrection,  ///< adds to an input of the model: a denoised or enlarged image
};

/// The end of a graph at one of its outputs.
struct OutputEnd {
  EndFunction function = EndFunction::kOther;
  /// Axis of the output, counted from the front; nothing if a Reshape splits or joins it, or if
  /// only a part of it is left.
  std::optional<std::int64_t> axis = {};
  bool objectness = false;  ///< kBoxes: there is one sigmoid more than classes
};

/// Looks from an output of a canonical graph back through operators that only move its numbers
/// (Reshape, Transpose, Squeeze, Unsqueeze, Flatten, Identity, Cast, Slice, Gather, Concat of equal
/// ends), round or interpolate them (Q/DQ, Resize) to the function that made them; through
/// elementwise operators to the layer whose channels they are. Types need not be static.
[[nodiscard]] OutputEnd FindOutputEnd(const Graph& graph, ValueId output);

}  // namespace msc::cost
