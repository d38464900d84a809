#pragma once

#include <vector>

namespace msc::envs {

/// The second column of features, in which all tools that decide about layers have the share of the
/// model's multiply-adds.
[[nodiscard]] inline std::vector<double> WorkOf(const std::vector<std::vector<double>>& features) {
  std::vector<double> work;
  work.reserve(features.size());
  for (const std::vector<double>& row : features) work.push_back(row.at(1));
  return work;
}

}  // namespace msc::envs
