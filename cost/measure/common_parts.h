#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/executable.h"

namespace msc::cost {

/// Nodes of which every profile has steps of their own, and none for part of them.
struct CommonPart {
  std::vector<std::string> nodes;  ///< in the order of the first profile's steps
  std::vector<double> micros;      ///< by profile: of its steps for these nodes together
  std::size_t fastest = 0;         ///< profile
};

/// Several profiles of one model side by side.
struct CommonParts {
  std::vector<CommonPart> parts;  ///< in the order of the first profile's steps
  std::vector<double>
      conversions;  ///< by profile: microseconds of steps for no node, which turn layouts
  /// What the model would take if each part ran where it is fastest and nothing had to be turned in
  /// between: no partition of these profiles is faster, up to noise.
  [[nodiscard]] double Ideal() const;
};

/// The finest parts that profiles of one graph have in common. Targets fuse differently, so a part
/// may be several steps of one and one step of another. At least one profile.
[[nodiscard]] CommonParts FindCommonParts(std::span<const std::vector<StepTime>> profiles);

}  // namespace msc::cost
