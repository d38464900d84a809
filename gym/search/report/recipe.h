#pragma once

#include "gym/report/report.h"
#include "gym/search/findings.h"
#include "gym/search/record.h"
#include "gym/search/run_paths.h"

namespace msc::gym {

/// Fills in the parts of a report that only a search of training recipes has. `input` already holds
/// the trials and the first part of the headline.
void TellRecipes(const SearchSetup& setup, const Findings& findings, const RunPaths& paths,
                 ReportInput& input);

}  // namespace msc::gym
