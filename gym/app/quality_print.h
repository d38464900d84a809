#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cost/model/outcome.h"

namespace msc::gym {

/// How close a compressed model is to the model, as a line of a subcommand's table.
void PrintQuality(const cost::Quality& quality);
/// The same for scripts; accuracies where labels were given.
[[nodiscard]] nlohmann::json QualityJson(const cost::Quality& quality);

}  // namespace msc::gym
