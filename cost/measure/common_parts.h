#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/executable.h"

namespace msc::cost {

/// Profile of a model on one target: its steps, and for each node of its lowered graph the nodes of
/// the model that it computes. All targets share these model nodes. A lowered node without a step
/// costs nothing, for example a view of its input.
struct NodeProfile {
  std::vector<StepTime> steps;
  std::map<std::string, std::vector<std::string>> origins = {};
};

/// A set of model nodes such that every step and every lowered node of every profile computes only
/// nodes inside or only nodes outside of it.
struct CommonPart {
  std::vector<std::string> nodes = {};  ///< in the order of the first profile's steps
  /// For each profile, the time of its steps for these nodes. Nothing if the profile does not show
  /// which of its lowered nodes computes one of them.
  std::vector<std::optional<double>> micros;
  std::size_t fastest = 0;  ///< profile with the least time
};

/// Profiles of one model side by side.
struct CommonParts {
  std::vector<CommonPart> parts;  ///< in the order of the first profile's steps
  /// For each profile, microseconds of steps that compute no node: layout conversions.
  std::vector<double> conversions;
  /// Returns the time of the model if each part ran on its fastest target and needed no layout
  /// conversions in between. Up to noise, no partition of these profiles is faster. Returns nothing
  /// if a profile lacks a part, because another part then contains it.
  [[nodiscard]] std::optional<double> Ideal() const;
};

/// Returns the finest parts that the profiles of one graph have in common. Targets fuse
/// differently, so a part may consist of several steps on one target and of one step on another.
/// Needs at least one profile.
[[nodiscard]] CommonParts FindCommonParts(std::span<const NodeProfile> profiles);

}  // namespace msc::cost
