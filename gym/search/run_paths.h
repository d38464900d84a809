#pragma once

#include <string>

namespace msc::gym {

/// Paths in a run directory.
struct RunPaths {
  std::string folder;
  [[nodiscard]] std::string At(const std::string& name) const { return folder + "/" + name; }
  [[nodiscard]] std::string journal() const { return At("trials.journal"); }
  [[nodiscard]] std::string prepared() const { return At("prepared"); }
  /// Fitted candidates, until the search has its results.
  [[nodiscard]] std::string fits() const { return At("fits"); }
  [[nodiscard]] std::string results() const { return At("results.json"); }
  [[nodiscard]] std::string best() const { return At("best"); }
  [[nodiscard]] std::string nearest() const { return At("nearest"); }
};

}  // namespace msc::gym
