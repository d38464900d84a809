#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compiler/ir/output_form.h"
#include "cost/model/outcome.h"

namespace msc::gym {

/// Prints how close a compressed model is to the original, as a line of a subcommand's table.
void PrintQuality(const cost::Quality& quality);
/// Prints on stderr what the outputs of a model are taken for.
void PrintForms(const OutputForms& forms);
/// Returns the quality for scripts; accuracies only if labels were given.
[[nodiscard]] nlohmann::json QualityJson(const cost::Quality& quality);

}  // namespace msc::gym
