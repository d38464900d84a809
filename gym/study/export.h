#pragma once

#include <span>
#include <string>

#include "gym/core/problem.h"
#include "gym/study/study.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Returns a study as a CSV table (RFC 4180), one row per trial: number, source, feasibility,
/// failure, seconds, every metric (by name), and the choice of every decision. A cell that a
/// spreadsheet would read as a formula gets a leading apostrophe. UserError if an assignment does
/// not fit the decisions.
[[nodiscard]] std::string StudyAsCsv(const StudyHeader& header, std::span<const Trial> trials,
                                     std::span<const Decision> decisions);

/// Returns a study as a journal file of Optuna 3.1 (JournalStorage over JournalFileStorage), so
/// that Optuna's plots and importances work on it. Each decision becomes a categorical parameter,
/// the objectives become values to minimize, and everything else becomes user attributes. Failed
/// trials have the state FAIL; trials that a race dropped have PRUNED. Times are local times
/// without a zone, as Optuna writes them; trials of journal formats 1 and 2 have none. Optuna
/// numbers trials in file order, so their numbers are kept only if none is missing. UserError if an
/// assignment does not fit the decisions. Source: optuna/storages/_journal/storage.py of that
/// version.
[[nodiscard]] std::string StudyAsOptuna(const StudyHeader& header, std::span<const Trial> trials,
                                        std::span<const Decision> decisions,
                                        const std::string& name);

}  // namespace msc::gym
