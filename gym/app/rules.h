#pragma once

#include <string>

#include "compiler/compress/rules/rules.h"

namespace msc::gym {

/// Loads rules like LoadRules and warns on stderr about options of the file without effect.
[[nodiscard]] RuleBook OpenRules(const std::string& path, const std::string& tool,
                                 const Graph& graph);

}  // namespace msc::gym
