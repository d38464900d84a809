#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gym/study/scan.h"
#include "gym/study/study.h"
#include "tests/gym/study/fake_problem.h"
#include "tests/gym/study/sim_file.h"

namespace msc::gym::testing {

/// For so many trials on a FakeProblem.
inline StudyOptions Options(std::uint64_t trials) {
  StudyOptions options;
  options.seed = 7;
  options.trials = trials;
  options.agent = "fake";
  options.objective = {{"cost"}, {{"error", 30}}};
  options.tool_version = "1.0";
  return options;
}

/// An agent without rounds, or with rounds of five.
enum class Kind { kFree, kRound };

inline std::unique_ptr<Agent> MakeAgent(Kind kind, const SearchProblem& problem,
                                        std::uint64_t seed = 7) {
  if (kind == Kind::kFree) return std::make_unique<FreeAgent>(SetupFor(problem, seed));
  return std::make_unique<RoundAgent>(SetupFor(problem, seed));
}

/// Runs the study, or goes on with the one that is on the disk.
inline StudyResult Conduct(SimDisk& disk, FakeProblem& problem, Kind kind,
                           const StudyOptions& options, const std::function<bool()>& stop = {}) {
  Journal journal(std::make_unique<SimFile>(disk));
  const auto agent = MakeAgent(kind, problem, options.seed);
  return RunStudy(problem, *agent, journal, options, {}, stop);
}

/// Times differ between runs; nothing else may.
inline std::vector<Trial> Timeless(std::vector<Trial> trials) {
  for (auto& trial : trials) trial.seconds = trial.finished = 0;
  return trials;
}

/// Of the journal on the disk.
inline std::vector<std::string> RecordsOf(const SimDisk& disk) {
  const JournalScan scan = ScanJournal(disk.written);
  return {scan.records.begin(), scan.records.end()};
}

}  // namespace msc::gym::testing
