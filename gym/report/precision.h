#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "gym/report/html.h"
#include "gym/report/report.h"

namespace msc::gym {

/// Returns the density that a choice such as "0.75" stands for, a number in (0, 1]; nothing for
/// other text.
[[nodiscard]] std::optional<double> DensityOf(const std::string& choice);

/// Colours of choices: f32, bf16, f16, int8 and int4 have fixed colours, others get the remaining
/// ones in order of appearance; densities and recipes have none. The colours are the classes "p0"
/// to "p7"; the page always shows the text as well.
class PrecisionColors {
 public:
  explicit PrecisionColors(const ReportInput& input);
  [[nodiscard]] Html ClassOf(const std::string& choice) const;
  /// Returns the choice as a coloured word; "–" if empty.
  [[nodiscard]] Html Chip(const std::string& choice) const;
  /// Returns the legend of precisions and of other choices that the layer strip shows.
  [[nodiscard]] Html Legend() const;

 private:
  void Add(const std::string& choice);

  std::map<std::string, int> colors_;
  std::set<std::string> of_layers_;  ///< choices in the strip of layers
};

}  // namespace msc::gym
