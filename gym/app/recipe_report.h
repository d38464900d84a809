#pragma once

#include "gym/app/search_record.h"
#include "gym/app/search_run.h"
#include "gym/report/report.h"

namespace msc::gym {

/// What a search of recipes shows besides what all searches do. `input` has the trials, and what
/// became of its headline so far.
void TellRecipes(const SearchSetup& setup, const Findings& findings, const RunPaths& paths,
                 ReportInput& input);

}  // namespace msc::gym
