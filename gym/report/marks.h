#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/report/html.h"
#include "gym/report/report.h"

namespace msc::gym {

/// A trial as charts and tables show it.
struct ReportMark {
  std::uint64_t number = 0;
  std::optional<double> latency;              ///< value on the latency axis, finite
  std::optional<double> quality;              ///< value on the quality axis, finite
  std::vector<std::optional<double>> others;  ///< finite, by ReportInput::others
  bool feasible = false;
  bool failed = false;
  bool dropped = false;  ///< a race dropped it; its values are rough
  std::string missed;    ///< "misses accuracy_drop <= 0.3"; empty if it failed or is feasible
  bool pareto = false;
  bool best = false;   ///< the winner of the finalists; if unknown, the best trial
  std::string anchor;  ///< "int8" for a trial from "anchor:int8"; otherwise empty
  std::string source;
  /// "int8 x 14, f32 x 3", most frequent first; for a recipe all its choices in order.
  std::string choices;
  std::string tip;  ///< a few lines for hovering
  double seconds = 0;
  bool repeated = false;
};

/// Returns one mark per trial, in order. Validates everything that it reads from `input`.
[[nodiscard]] std::vector<ReportMark> ReportMarks(const ReportInput& input);

/// Returns whether axes must include this trial even if it is an outlier (RobustHigh). For models:
/// the best trial and the feasible front. For recipes: also the front without feasible trials, and
/// anchors.
[[nodiscard]] bool MustShow(const ReportInput& input, const ReportMark& mark);

/// Returns "feasible", "infeasible" or "failed", a class of the page's style.
[[nodiscard]] std::string StateOf(const ReportMark& mark);

/// Returns the classes of a trial's table row, " class='infeasible is-best'": grey if it violates a
/// limit.
[[nodiscard]] Html RowClass(const ReportMark& mark);

/// Returns the status of a trial for a table: "feasible", "misses accuracy_drop <= 0.3", "failed",
/// "dropped after a rough measurement".
[[nodiscard]] std::string VerdictOn(const ReportMark& mark);

/// Returns a table cell with a number and a bar of its fraction of `largest`. Sorts by the number.
[[nodiscard]] Html BarCell(std::optional<double> value, double largest, const std::string& text);

/// Returns the heads of numeric columns, one per axis.
[[nodiscard]] Html AxisHeads(const std::vector<ReportAxis>& axes);

/// Formats a value of an axis with `digits` significant digits, a count with all digits.
[[nodiscard]] std::string OnAxis(std::optional<double> value, const ReportAxis& axis, int digits);

/// Formats a value of the first axis: ratios to the uncompressed model have `digits` decimals,
/// everything else has 4 significant digits.
[[nodiscard]] std::string OnLatencyAxis(std::optional<double> value, const ReportInput& input,
                                        int digits);

/// Formats "0.120 points", with decimals to suit the limit or the baseline of the axis.
[[nodiscard]] std::string WithUnit(std::optional<double> value, const ReportAxis& axis);

}  // namespace msc::gym
