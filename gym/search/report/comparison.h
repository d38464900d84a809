#pragma once

#include <string>
#include <vector>

namespace msc::gym {

/// Writes a page that compares the searches of `folders` by their journals. Returns the damage in
/// these journals. UserError if the searches are of different models or objectives.
[[nodiscard]] std::vector<std::string> WriteComparison(const std::vector<std::string>& folders,
                                                       const std::string& file);

}  // namespace msc::gym
