#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cost/model/outcome.h"

namespace msc::gym {

/// Prints how close a compressed model is to the original, as a line of a subcommand's table.
void PrintQuality(const cost::Quality& quality);
/// Returns the same for scripts; accuracies only if labels were given.
[[nodiscard]] nlohmann::json QualityJson(const cost::Quality& quality);

}  // namespace msc::gym
