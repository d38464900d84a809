#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/core/agent.h"
#include "gym/core/problem.h"
#include "gym/study/objective.h"

namespace msc::gym {

/// One evaluated assignment of a study. The journal stores one record per trial.
struct Trial {
  std::uint64_t number = 0;
  std::string source;  ///< "anchor:int8" for baselines, otherwise e.g. the agent's name
  Assignment assignment;
  Evaluation evaluation;
  double seconds = 0;  ///< wall clock from start to result; estimated if several run in parallel
  /// The evaluation was copied from an equal trial of this or an earlier study.
  bool repeated = false;
  double finished = 0;  ///< when it entered the journal, seconds since 1970 UTC; 0 = unknown
  /// Measured by a resume, after the trial was lost and its round was told. The agent never
  /// receives its result, since its proposals must stay the same.
  bool late = false;
  bool operator==(const Trial&) const = default;
};

/// Returns a journal record of type "trial", without its sequence number.
[[nodiscard]] std::string ToJson(const Trial& trial);
/// Parses a trial record. UserError naming `what` and the key at fault.
[[nodiscard]] Trial TrialFromJson(std::string_view text, const std::string& what);

/// First record of a journal: the settings of its trials. Trials of different settings must not be
/// mixed, so a resumed study compares every field.
struct StudyHeader {
  /// Version of the records. Format 1 had no "setup" and "findings". Format 2 had one rough stage
  /// of a race ("rough" in place of "rungs"), no "finished" in trials and no estimates in the
  /// setup.
  std::int64_t format = 3;
  std::string problem;       ///< SearchProblem::Hash
  std::string agent;         ///< its name
  std::uint64_t seed = 0;    ///< of the study
  Objective objective;       ///< of the study
  std::string tool_version;  ///< version of the program
  std::string machine;       ///< fingerprint of the measuring machine; may be empty
  bool operator==(const StudyHeader&) const = default;
};

[[nodiscard]] std::string ToJson(const StudyHeader& header);
/// Parses a study header. UserError, naming `what` and the key at fault, also if the record is of
/// another type or of a later format.
[[nodiscard]] StudyHeader HeaderFromJson(std::string_view text, const std::string& what);
/// Returns "seed (journal: 1, now: 2)" for each field that differs.
[[nodiscard]] std::vector<std::string> HeaderDifferences(const StudyHeader& journal,
                                                         const StudyHeader& now);

/// Returns the type of a journal's record number `index`: "study", "start", "setup", "trial",
/// "tick", "task", "goal", "end" or "findings". UserError, naming the record, for any other type,
/// and for a "study" that is not the first record.
[[nodiscard]] std::string RecordType(std::string_view text, std::size_t index);

/// Returns whether the measuring process was lost (FailureKind::kLost): a worker, or a child that
/// another process killed or stopped. That is no result of the candidate; a resumed study measures
/// it again.
[[nodiscard]] bool WasLost(const Trial& trial);

/// Returns the trials of a journal, by number. A trial that was lost and measured again is its last
/// record. UserError if a number occurs twice otherwise, or if a record is malformed.
[[nodiscard]] std::vector<Trial> TrialsOf(std::span<const std::string> records);

/// Returns what the study tells an agent about a trial: the results; for a dropped trial its rough
/// values, marked as rough; for a lost or late trial that they are unknown. UserError if a metric
/// of the objective is missing.
[[nodiscard]] TrialResult TrialResultOf(const Objective& objective, const Trial& trial);
/// Returns whether the trial succeeded, was not dropped, and satisfies every constraint.
[[nodiscard]] bool IsFeasible(const Objective& objective, const Trial& trial);
/// Returns the index of the best feasible trial: objectives are compared in order, ties go to the
/// first trial.
[[nodiscard]] std::optional<std::size_t> BestOf(const Objective& objective,
                                                std::span<const Trial> trials);
/// Returns the indices of the feasible trials that no other feasible one dominates, sorted by the
/// first objective. If none is feasible, returns the front of all complete trials, which shows the
/// trade-offs found.
[[nodiscard]] std::vector<std::size_t> ParetoOf(const Objective& objective,
                                                std::span<const Trial> trials);

}  // namespace msc::gym
