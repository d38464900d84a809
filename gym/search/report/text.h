#pragma once

#include <optional>
#include <string>

#include "cost/model/outcome.h"
#include "gym/core/problem.h"
#include "gym/report/report.h"
#include "gym/study/objective.h"

namespace msc::gym {

/// Returns the current time as "2026-01-31 12:00 UTC".
[[nodiscard]] std::string NowText();

/// Returns the speed-up relative to the uncompressed model; nothing if not measured.
[[nodiscard]] std::optional<Measured> SpeedUp(const cost::Outcome& outcome);

/// Returns the violated limits, "accuracy_drop <= 0.5"; empty if the trial failed or violates none.
[[nodiscard]] std::string MissedText(const Objective& objective, const Evaluation& evaluation);

/// Returns text as one word of a POSIX shell, quoted only if it must be.
[[nodiscard]] std::string ShellWord(const std::string& text);

}  // namespace msc::gym
