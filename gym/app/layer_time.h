#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "cost/measure/child_protocol.h"

namespace msc::gym {

/// What the steps of a profile that compute a layer take, and what it ran in.
struct LayerTime {
  std::optional<double> share;  ///< of all of the profile
  std::optional<double> ms;
  std::string precision;  ///< of the layer's own step; empty where no step computes it
};

/// Of the profile at `index`, where there is one. A layer may take several steps: what closes it,
/// such as a PRelu or a residual that is added, may compute in f32 behind one in int8, and stands
/// after it.
[[nodiscard]] LayerTime TimeOf(std::span<const cost::Profile> profiles, std::size_t index,
                               const std::string& layer);

}  // namespace msc::gym
