#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/executable.h"

namespace msc::cost {

/// What one target made of a model: its steps, and for each node of the graph that it lowered the
/// nodes of the model that this stands for, which targets have in common. A node without a step
/// costs nothing there, such as a view of its input.
struct NodeProfile {
  std::vector<StepTime> steps;
  std::map<std::string, std::vector<std::string>> origins;
};

/// Nodes of the model that no step and no lowered node of any profile leaves or enters.
struct CommonPart {
  std::vector<std::string> nodes;  ///< in the order of the first profile's steps
  /// By profile: of its steps for these nodes together. Nothing where nobody knows which of its
  /// nodes stands for one of them.
  std::vector<std::optional<double>> micros;
  std::size_t fastest = 0;  ///< profile
};

/// Several profiles of one model side by side.
struct CommonParts {
  std::vector<CommonPart> parts;  ///< in the order of the first profile's steps
  std::vector<double>
      conversions;  ///< by profile: microseconds of steps for no node, which turn layouts
  /// What the model would take if each part ran where it is fastest and nothing had to be turned in
  /// between: no partition of these profiles is faster, up to noise. Nothing where some profile
  /// lacks a part: it is hidden in another part there.
  [[nodiscard]] std::optional<double> Ideal() const;
};

/// The finest parts that profiles of one graph have in common. Targets fuse differently, so a part
/// may be several steps of one and one step of another. At least one profile.
[[nodiscard]] CommonParts FindCommonParts(std::span<const NodeProfile> profiles);

}  // namespace msc::cost
