#pragma once

#include <string>

#include "cost/measure/machine.h"
#include "gym/search/findings.h"
#include "gym/study/study.h"

namespace msc::gym {

// Files that a search writes for other tools, as text. Each names its `format`. This program never
// reads them, since the journal holds all of their content; scripts/run_files.py does.

/// Returns results.json, the findings.
[[nodiscard]] std::string ResultsJson(const Findings& findings);
/// Returns pareto.json, the Pareto set with its metrics and feasibility.
[[nodiscard]] std::string ParetoJson(const Objective& objective, const StudyResult& study);
/// Returns env.json, the machine and the hash of the canonical graph.
[[nodiscard]] std::string EnvJson(const cost::MachineFacts& machine, const std::string& model_hash);

}  // namespace msc::gym
