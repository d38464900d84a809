#pragma once

#include <span>
#include <string>

#include "gym/core/problem.h"
#include "gym/study/study.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// A study as a table for spreadsheets and data frames: a line a trial, with its number, source,
/// feasibility, failure, seconds, every metric (by name), and the choice of every decision. RFC
/// 4180; text that a spreadsheet would take for a formula gets an apostrophe in front. UserError if
/// an assignment does not fit the decisions.
[[nodiscard]] std::string StudyAsCsv(const StudyHeader& header, std::span<const Trial> trials,
                                     std::span<const Decision> decisions);

/// A study as a journal file of Optuna 3.1 (JournalStorage over JournalFileStorage), by which its
/// plots and importances can be had: one categorical parameter a decision, the objectives as values
/// to minimize, everything else as user attributes; failed trials are FAIL, dropped ones PRUNED.
/// Times are UTC; there are none of trials of journal formats 1 and 2. Numbers of trials are kept
/// only where none is missing. UserError as above. Source: optuna/storages/_journal/storage.py of
/// that version.
[[nodiscard]] std::string StudyAsOptuna(const StudyHeader& header, std::span<const Trial> trials,
                                        std::span<const Decision> decisions,
                                        const std::string& name);

}  // namespace msc::gym
