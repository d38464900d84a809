#pragma once

#include <string>

#include "compiler/compress/rules/rules.h"

namespace msc::gym {

/// As LoadRules; says on stderr which options of the file turn nothing.
[[nodiscard]] RuleBook OpenRules(const std::string& path, const std::string& tool,
                                 const Graph& graph);

}  // namespace msc::gym
