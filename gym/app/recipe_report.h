#pragma once

#include "gym/app/search_record.h"
#include "gym/app/search_run.h"
#include "gym/report/report.h"

namespace msc::gym {

/// Fills in the parts of a report that only a search of training recipes has. `input` already holds
/// the trials and the first part of the headline.
void TellRecipes(const SearchSetup& setup, const Findings& findings, const RunPaths& paths,
                 ReportInput& input);

}  // namespace msc::gym
