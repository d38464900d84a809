#pragma once

#include <string>

#include "cost/measure/machine.h"
#include "gym/app/search_findings.h"
#include "gym/study/study.h"

namespace msc::gym {

// What a search leaves for other tools, as text. Each names its `format`; nothing in this program
// reads them back, since the journal has all of it. scripts/run_files.py reads them.

/// The findings: results.json.
[[nodiscard]] std::string ResultsJson(const Findings& findings);
/// The Pareto set with its metrics, and whether each keeps the limits: pareto.json.
[[nodiscard]] std::string ParetoJson(const Objective& objective, const StudyResult& study);
/// The machine, and the hash of the canonical graph: env.json.
[[nodiscard]] std::string EnvJson(const cost::MachineFacts& machine, const std::string& model_hash);

}  // namespace msc::gym
