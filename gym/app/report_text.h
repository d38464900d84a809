#pragma once

#include <optional>
#include <string>

#include "cost/model/outcome.h"
#include "gym/report/report.h"

namespace msc::gym {

/// "2026-01-31 12:00 UTC".
[[nodiscard]] std::string NowText();

/// How many times as fast as the uncompressed model; nothing where that was not measured.
[[nodiscard]] std::optional<Measured> SpeedUp(const cost::Outcome& outcome);

}  // namespace msc::gym
