#pragma once

#include <string_view>

namespace msc::envs {

// Quantities of decisions (gym::Decision::quantity) that several envs share. A quantity of only one
// env has the name of its decision: "boundary_us", "align", "epochs".

/// Bits of a layer's weights: 32 for f32, 16 for bf16, 8 or fewer for integers.
inline constexpr std::string_view kBits = "bits";
/// Share of a group's units that is kept, in (0, 1].
inline constexpr std::string_view kDensity = "density";

}  // namespace msc::envs
