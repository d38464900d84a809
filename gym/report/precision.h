#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "gym/report/html.h"
#include "gym/report/report.h"

namespace msc::gym {

/// The share that a choice such as "0.75" is: a number in (0, 1]. Nothing for other words.
[[nodiscard]] std::optional<double> DensityOf(const std::string& choice);

/// Which colour stands for which choice: f32, bf16, f16, int8, int4 always have the same; others
/// take what is left, in order of appearance; shares and recipes have none. Colours are told apart
/// by class "p0" to "p7"; the text is always there too.
class PrecisionColors {
 public:
  explicit PrecisionColors(const ReportInput& input);
  [[nodiscard]] Html ClassOf(const std::string& choice) const;
  /// The choice as a coloured word; "–" if empty.
  [[nodiscard]] Html Chip(const std::string& choice) const;
  /// Of precisions, and of what layers have.
  [[nodiscard]] Html Legend() const;

 private:
  void Add(const std::string& choice);

  std::map<std::string, int> colors_;
  std::set<std::string> of_layers_;  ///< choices that the strip shows
};

}  // namespace msc::gym
