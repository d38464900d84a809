#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Values that a configuration field accepts: bounds of a number (both included) or a list of
/// words.
struct Within {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string_view> choices = {};

  [[nodiscard]] static Within OneOf(std::vector<std::string_view> words) {
    Within within;
    within.choices = std::move(words);
    return within;
  }
  [[nodiscard]] bool Allows(double value) const { return value >= least && value <= most; }
  [[nodiscard]] bool Allows(std::string_view word) const {
    return choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end();
  }
  /// Returns "between 1 and 10", "at least 0" or "one of a, b"; returns `otherwise` if there are no
  /// bounds.
  [[nodiscard]] std::string Text(const std::string& otherwise = "finite") const;
};

}  // namespace msc
