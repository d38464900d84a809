#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/report/html.h"
#include "gym/report/report.h"

namespace msc::gym {

/// A trial as the charts and tables see it.
struct ReportMark {
  std::uint64_t number = 0;
  std::optional<double> latency;              ///< finite, on the latency axis
  std::optional<double> quality;              ///< finite, on the quality axis
  std::vector<std::optional<double>> others;  ///< finite, by ReportInput::others
  bool feasible = false;
  bool failed = false;
  bool dropped = false;  ///< after a rough measurement, which is all there is of it
  std::string missed;    ///< "misses accuracy_drop <= 0.3"; empty where it failed or keeps all
  bool pareto = false;
  bool best = false;   ///< the winner of the finalists; where none is known, of the trials
  std::string anchor;  ///< "int8" of a trial from "anchor:int8"; else empty
  std::string source;
  std::string choices;  ///< "int8 x 14, f32 x 3", most frequent first; of recipes each by itself
  std::string tip;      ///< a few lines for hovering
  double seconds = 0;
  bool repeated = false;
};

/// One mark a trial, in their order. Takes nothing for granted of `input`.
[[nodiscard]] std::vector<ReportMark> Marks(const ReportInput& input);

/// Whether axes reach as far as this trial, however far it lies from the rest (RobustHigh): the
/// best and the front; of models only as far as the front keeps the limits, of recipes also
/// anchors.
[[nodiscard]] bool MustShow(const ReportInput& input, const ReportMark& mark);

/// "feasible", "infeasible", "failed": a class of the page's style.
[[nodiscard]] std::string StateOf(const ReportMark& mark);

/// " class='infeasible is-best'" of a table's row about the trial: grey where it misses a limit.
[[nodiscard]] Html RowClass(const ReportMark& mark);

/// What a table says of a trial: "feasible", "misses accuracy_drop <= 0.3", "failed",
/// "dropped after a rough measurement".
[[nodiscard]] std::string VerdictOn(const ReportMark& mark);

/// A table's cell: a number with a bar as long as its part of `largest`. Sorts by the number.
[[nodiscard]] Html BarCell(std::optional<double> value, double largest, const std::string& text);

/// Heads of columns with numbers, one an axis.
[[nodiscard]] Html Heads(const std::vector<ReportAxis>& axes);

/// A value of an axis in `digits` digits; a count in all of them.
[[nodiscard]] std::string OnAxis(std::optional<double> value, const ReportAxis& axis, int digits);

/// A value of the first axis: ratios to the uncompressed model have `digits` behind the point, all
/// else has 4 digits.
[[nodiscard]] std::string OnLatencyAxis(std::optional<double> value, const ReportInput& input,
                                        int digits);

/// "0.120 points", with digits to suit the limit or baseline of the axis.
[[nodiscard]] std::string WithUnit(std::optional<double> value, const ReportAxis& axis);

}  // namespace msc::gym
