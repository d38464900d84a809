#pragma once

#include <string>

#include "gym/study/study.h"

namespace msc::gym {

/// "-0.12": with two digits and its sign, but "0.00" for what rounds to that.
[[nodiscard]] std::string SignedPoints(double points);

/// "[trial 7/50] best 1.234 ms (1.50x) acc -0.12 hv 0.21 | eta 00:01:00 | 2 failed", with what is
/// known of it.
[[nodiscard]] std::string ProgressText(const Progress& progress);

/// "24 trials, 3 failed (2 timeout, 1 crash), 4 dropped after a rough measurement".
[[nodiscard]] std::string CountsText(const StudyResult& study);

/// Why the trials ended, by the rules they were made under.
[[nodiscard]] std::string EndText(StopReason reason, const StopRules& rules);

}  // namespace msc::gym
