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

/// One attempt at the problem. What the journal stores, one record each.
struct Trial {
  std::uint64_t number = 0;
  std::string source;  ///< "anchor:int8" for baselines, else the agent's name
  Assignment assignment;
  Evaluation evaluation;
  double seconds = 0;     ///< from start to result, wall clock; estimated where several run at once
  bool repeated = false;  ///< tried before, here or in an earlier study: its evaluation was copied
  double finished = 0;    ///< when it was put into the journal, seconds since 1970 UTC; 0 = unknown
  /// Measured on a resume, after it had been lost and its round was told: the agent, whose
  /// proposals must stay what they were, never hears of it.
  bool late = false;
  bool operator==(const Trial&) const = default;
};

/// A journal record of type "trial", without its sequence number.
[[nodiscard]] std::string ToJson(const Trial& trial);
/// UserError naming `what` and the key at fault.
[[nodiscard]] Trial TrialFromJson(std::string_view text, const std::string& what);

/// What a journal's trials were made with: its first record. Trials made with other settings must
/// not be mixed with them, so a resumed study compares every field.
struct StudyHeader {
  /// Version of the records: 1 had no "setup" and "findings"; 2 had one rough rung of a race
  /// ("rough" in place of "rungs"), no "finished" in trials and no estimates in the setup.
  std::int64_t format = 3;
  std::string problem;       ///< SearchProblem::Hash
  std::string agent;         ///< its name
  std::uint64_t seed = 0;    ///< the study's
  Objective objective;       ///< what the agent is told about
  std::string tool_version;  ///< of the program
  std::string machine;       ///< fingerprint of where it was measured; may be empty
  bool operator==(const StudyHeader&) const = default;
};

[[nodiscard]] std::string ToJson(const StudyHeader& header);
/// UserError naming `what` and the key at fault, also where the record is of another type or was
/// written in a later format.
[[nodiscard]] StudyHeader HeaderFromJson(std::string_view text, const std::string& what);
/// "seed (journal: 1, now: 2)" for each field that differs.
[[nodiscard]] std::vector<std::string> Differences(const StudyHeader& journal,
                                                   const StudyHeader& now);

/// The type of a journal's record number `index`: "study", "start", "setup", "trial", "tick",
/// "task", "goal", "end" or "findings". UserError, naming the record, if it is of none of them, or
/// "study" and not the first.
[[nodiscard]] std::string RecordType(std::string_view text, std::size_t index);

/// Whether what measured it was lost (FailureKind::kLost): workers, or children that others killed
/// or stopped. It says nothing of the candidate, which is measured again when the study is resumed.
[[nodiscard]] bool WasLost(const Trial& trial);

/// The trials among a journal's records, by number; of one that was lost and measured late,
/// the last record. UserError if a number occurs twice otherwise, or a record is not of this
/// program's making.
[[nodiscard]] std::vector<Trial> TrialsOf(std::span<const std::string> records);

/// What an agent hears of a trial; of a dropped one, its rough values, marked so; of one that was
/// lost or late, that it is unknown. UserError if a metric of the objective is missing.
[[nodiscard]] Told ToldOf(const Objective& objective, const Trial& trial);
/// Whether the trial succeeded, was not dropped, and keeps every constraint.
[[nodiscard]] bool Feasible(const Objective& objective, const Trial& trial);
/// Index of the feasible trial with the least objectives, compared in order; of equals the first.
[[nodiscard]] std::optional<std::size_t> BestOf(const Objective& objective,
                                                std::span<const Trial> trials);
/// Indices of the feasible trials that no other feasible one dominates, by first objective. Where
/// none is feasible, of all that succeeded and were not dropped: the trade-offs that there are.
[[nodiscard]] std::vector<std::size_t> ParetoOf(const Objective& objective,
                                                std::span<const Trial> trials);

}  // namespace msc::gym
