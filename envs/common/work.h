#pragma once

#include <vector>

namespace msc::envs {

/// Returns the second column of a table of features, which holds the share of the model's
/// multiply-adds in all tools that decide about layers.
[[nodiscard]] inline std::vector<double> WorkOf(const std::vector<std::vector<double>>& features) {
  std::vector<double> work;
  work.reserve(features.size());
  for (const std::vector<double>& row : features) work.push_back(row.at(1));
  return work;
}

}  // namespace msc::envs
