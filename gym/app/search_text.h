#pragma once

#include <chrono>
#include <string>

#include "cost/model/outcome.h"
#include "gym/study/study.h"

namespace msc::gym {

/// "-0.12": with two digits and its sign, but "0.00" for what rounds to that.
[[nodiscard]] std::string SignedPoints(double points);

/// "[trial 7/50] best 1.234 ms (1.50x) acc -0.12 hv 0.21 | eta 00:01:00 | 2 failed", with what is
/// known of it. The time left is that for trials and `after`, for what comes after them.
[[nodiscard]] std::string ProgressText(const Progress& progress,
                                       std::chrono::duration<double> after = {});

/// "accuracy drop 0.21 +- 0.17 points, loss 0.0123 +- 0.0004 nats", the sign as one character: with
/// what they may be off by for want of samples, at 95 %. Disagreement instead of accuracy where
/// there are no labels.
[[nodiscard]] std::string IntervalsText(const cost::Quality& quality);
/// The same behind "1.520x (1.500 to 1.550), " where speed was measured, and "energy 0.710 (0.700
/// to 0.720), " where that was, by the uncompressed model's.
[[nodiscard]] std::string IntervalsText(const cost::Outcome& outcome);

/// "energy 0.71 (3.2 mJ)": by what a call of the uncompressed model uses, and of a call; empty
/// where it was not measured.
[[nodiscard]] std::string EnergyText(const cost::Outcome& outcome);

/// "24 trials, 3 failed (2 timeout, 1 crash), 4 dropped after a rough measurement".
[[nodiscard]] std::string CountsText(const StudyResult& study);

/// Why the trials ended, by the rules they were made under.
[[nodiscard]] std::string EndText(StopReason reason, const StopRules& rules);

}  // namespace msc::gym
