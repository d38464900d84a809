#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "cost/measure/child_protocol.h"

namespace msc::gym {

/// Time and precision of a layer in a profile.
struct LayerTime {
  std::optional<double> share;  ///< of the whole profile
  std::optional<double> ms;
  std::string precision;  ///< of the layer's main step; empty if no step computes it
};

/// Returns the values from the profile at `index`; all absent if there is none. A layer may take
/// several steps. An epilogue such as a PRelu or an added residual may run in f32 in a later step
/// than the layer in int8, so the precision is that of the first step.
[[nodiscard]] LayerTime TimeOf(std::span<const cost::Profile> profiles, std::size_t index,
                               const std::string& layer);

}  // namespace msc::gym
