#pragma once

#include <string_view>

namespace msc::envs {

// What the choices of decisions count (gym::Decision::quantity), where several envs have such.
// Quantities of one env alone are named like its decisions: "boundary_us", "align", "epochs".

/// Bits of a layer's weights: 32 for f32, 16 for bf16, 8 or less for integers.
inline constexpr std::string_view kBits = "bits";
/// Share of a group's units that stays, in (0, 1].
inline constexpr std::string_view kDensity = "density";

}  // namespace msc::envs
