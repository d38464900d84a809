#pragma once

#include "gym/app/search_record.h"
#include "gym/app/search_run.h"
#include "gym/report/report.h"

namespace msc::gym {

/// What a search of recipes shows besides what all searches do. `input` has the trials.
void TellRecipes(const SearchSetup& setup, const RunPaths& paths, ReportInput& input);

}  // namespace msc::gym
