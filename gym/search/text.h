#pragma once

#include <chrono>
#include <string>

#include "cost/model/outcome.h"
#include "gym/study/study.h"

namespace msc::gym {

/// Returns "-0.12": two decimals with a sign, but "0.00" for values that round to it.
[[nodiscard]] std::string SignedPoints(double points);

/// Returns "[trial 7/50] best 1.234 ms (1.50x) acc -0.12 hv 0.21 | eta 00:01:00 | 2 failed",
/// without unknown parts. The eta includes `after`, the time of the phases after the trials.
[[nodiscard]] std::string ProgressText(const Progress& progress,
                                       std::chrono::duration<double> after = {});

/// Returns "accuracy drop 0.21 +- 0.17 points, loss 0.0123 +- 0.0004 nats", with one character for
/// the sign: half widths of the 95 % intervals due to the finite sample. Shows disagreement instead
/// of losses against labels if there are no labels.
[[nodiscard]] std::string IntervalsText(const cost::Quality& quality);
/// Returns the same after "1.520x (1.500 to 1.550), " if speed was measured, and after "energy
/// 0.710 (0.700 to 0.720), ", relative to the uncompressed model, if energy was.
[[nodiscard]] std::string IntervalsText(const cost::Outcome& outcome);

/// Returns "energy 0.71 (3.2 mJ)", relative to the uncompressed model and per inference; empty if
/// not measured.
[[nodiscard]] std::string EnergyText(const cost::Outcome& outcome);

/// Returns "24 trials, 3 failed (2 timeout, 1 crash), 4 dropped after a rough measurement".
[[nodiscard]] std::string CountsText(const StudyResult& study);

/// Returns why the trials ended, given their stop rules.
[[nodiscard]] std::string EndText(StopReason reason, const StopRules& rules);

}  // namespace msc::gym
