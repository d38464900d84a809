#include "gym/search/estimates.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "cost/measure/local_evaluator.h"
#include "envs/common/evaluation.h"
#include "gym/search/loss_estimates.h"
#include "gym/search/measuring.h"
#include "gym/search/phase_time.h"
#include "gym/search/probes.h"
#include "gym/search/record.h"
#include "gym/search/time_estimates.h"

namespace msc::gym {
namespace {

using Say = std::function<void(const std::string&)>;
using Stop = std::function<bool()>;

/// Returns whether the result is void because another process ended the measurement.
bool WasLost(const Result<cost::Outcome>& result) {
  return !result.ok() && result.failure().kind == FailureKind::kLost;
}

/// Returns the bytes of the uncompressed model's weights.
std::optional<std::int64_t> BytesOf(const envs::StrategyProblem& problem,
                                    cost::Evaluator& evaluator, const Stop& stop) {
  const Assignment none(problem.decisions().size(), 0);
  const cost::Candidate candidate{.strategy = problem.StrategyOf(none),
                                  .measure = cost::Measure::kQuality};
  std::optional<std::int64_t> bytes;
  evaluator.Evaluate(
      {&candidate, 1},
      [&](std::size_t /*index*/, const Result<cost::Outcome>& result) {
        if (result.ok()) bytes = result.value().weight_bytes;
      },
      stop);
  return bytes;
}

std::string FileOf(const RunPaths& paths) {
  return paths.At("estimates.json");
}

/// Returns the records of the journal; empty if there is none yet.
std::vector<std::string> RecordsIn(const RunPaths& paths) {
  std::error_code none;
  const auto size = std::filesystem::file_size(paths.journal(), none);
  return none || size == 0 ? std::vector<std::string>() : ReadJournal(paths.journal()).records;
}

/// Returns the table that the trials of a run started from or will start from; nothing if none is
/// determined.
std::optional<EstimateTable> TableOf(const RunPaths& paths) {
  const std::string path = FileOf(paths);
  if (std::filesystem::exists(path)) {
    return FromJsonText<EstimateTable>(ReadFile(path), "'" + path + "'");
  }
  const std::vector<std::string> records = RecordsIn(paths);
  if (TrialsOf(records).empty()) return std::nullopt;
  const std::optional<SearchSetup> setup = FindSearchRecords(records).setup;
  return setup ? setup->estimates : EstimateTable();
}

struct ProbeTime {
  double seconds = 0;
  static void Fields(auto& self, auto& visit) {
    visit("seconds", self.seconds, "of a probe", Within{.least = 0});
  }
};

/// Tables shared with searches under the same conditions.
class SharedTables {
 public:
  SharedTables(const SearchConfig& config, const SearchProblem& problem, Measuring& measuring,
               double seconds)
      : from_{config.from},
        measuring_(measuring),
        // The planned time is part of the key, as it decides which probes there are.
        key_(measuring.KeyOf("estimates of " + problem.Hash() + " in " + std::to_string(seconds))),
        time_keys_{measuring.KeyOf("a probe of precisions of " + problem.Hash()),
                   measuring.KeyOf("a probe of channels of " + problem.Hash())} {}

  [[nodiscard]] const std::string& key() const { return key_; }

  [[nodiscard]] std::optional<EstimateTable> Find() const {
    std::optional<EstimateTable> table = Recall<EstimateTable>(key_);
    if (!table && !from_.folder.empty()) table = TableOf(from_);
    return table && table->key == key_ ? table : std::nullopt;
  }
  void Keep(const EstimateTable& table) const { measuring_.Keep(key_, ToJsonText(table)); }

  /// Returns the seconds of a probe of a kind. The value is stored at once: if the search is
  /// interrupted after some probes were cached, which would then look fast, a resume still follows
  /// the same plan.
  [[nodiscard]] std::optional<double> ProbeSeconds(
      ProbeKind kind, const std::function<std::optional<double>()>& measure) const {
    const std::string& key = time_keys_.at(static_cast<std::size_t>(kind));
    if (const auto kept = Recall<ProbeTime>(key)) return kept->seconds;
    const std::optional<double> seconds = measure();
    if (seconds) measuring_.Keep(key, ToJsonText(ProbeTime{*seconds}));
    return seconds;
  }

 private:
  template <class T>
  [[nodiscard]] std::optional<T> Recall(const std::string& key) const {
    const std::optional<std::string> text = measuring_.Recall(key);
    if (!text) return std::nullopt;
    try {
      return FromJsonText<T>(*text, "what is kept");
    } catch (const UserError&) {
      return std::nullopt;  // written by another version: treat as damaged
    }
  }

  RunPaths from_;
  Measuring& measuring_;
  std::string key_;
  std::array<std::string, kProbeKinds.size()> time_keys_;
};

/// Context of a search before its first trial.
struct Work {
  const SearchHost& host;
  const RunPaths& paths;
  const envs::StrategyProblem& problem;
  Measuring& measuring;
  const Say& say;
  const Stop& stop;
  const TimeBudget& time;
  double end = std::numeric_limits<double>::infinity();  ///< time used at which all of it must end

  [[nodiscard]] bool IsLate() const { return time.Used() >= end; }
};

/// Which decisions to probe, and how long that takes.
struct PlannedRun {
  ProbeLimits limits;
  std::size_t probes = 0;
  double seconds = 0;
};

/// Plans as many probes as take `seconds`, the cheap ones first; none if no decision can be tried.
PlannedRun PlanProbes(const Work& work, double seconds, const SharedTables& shared,
                      const Stop& stop) {
  PlannedRun plan;
  plan.limits.measure = ProbeMeasure(work.time);
  for (const ProbeKind kind : kProbeKinds) {
    const auto each = shared.ProbeSeconds(kind, [&] {
      return TimeProbe(work.problem, work.measuring.evaluator(), kind, plan.limits.measure, stop);
    });
    std::size_t& planned = plan.limits.probes.at(static_cast<std::size_t>(kind));
    planned = !each ? 0
                    : PlannedProbes(CountProbes(work.problem, kind),
                                    std::max(seconds - plan.seconds, 0.0), *each);
    plan.probes += planned;
    plan.seconds += static_cast<double>(planned) * each.value_or(0);
  }
  return plan;
}

struct MeasuredTable {
  EstimateTable table;
  bool whole = true;  ///< no other process ended a measurement
};

/// Measures a new table; returns nothing if `stop` returned true.
std::optional<MeasuredTable> Measure(const Work& work, const Graph& graph, double seconds,
                                     const SharedTables& shared) {
  // Factors over the planned time, so that a machine that is busy otherwise still completes the
  // plan.
  constexpr double kPatience = 2;
  constexpr double kPatiencePlanned = 4;
  /// What timing pruned models may take, as a share of the planned time.
  constexpr double kTimingShare = 0.3;
  const Stop stop = [&] { return work.stop() || work.IsLate(); };
  cost::Evaluator& evaluator = work.measuring.evaluator();
  const std::optional<std::int64_t> bytes = BytesOf(work.problem, evaluator, stop);
  PlannedRun plan = PlanProbes(work, seconds, shared, stop);
  MeasuredTable measured{.table = {.problem_hash = work.problem.Hash(), .key = shared.key()}};
  EstimateTable& table = measured.table;
  if (plan.probes > 0) {
    plan.limits.seconds = std::max(kPatience * seconds, kPatiencePlanned * plan.seconds);
    const ProbeRun run = ProbeQuality(work.problem, evaluator, plan.limits, work.say, stop);
    table.planned = static_cast<std::int64_t>(plan.probes);
    table.tried = std::ssize(run.result);
    AddLossEstimates(work.problem.decisions(), run, bytes, table.costs);
    measured.whole = bytes && std::none_of(run.result.begin(), run.result.end(),
                                           [](const auto& of) { return WasLost(of.second); });
  }
  if (work.stop()) return std::nullopt;
  work.say("[steps] timing whole models with all layers in one precision, and pruned ones");
  cost::LocalEvaluator local(LocalFor(work.host, work.paths.folder));
  if (!AddTimeEstimates(work.problem, graph, local, kTimingShare * seconds, stop, table.costs)) {
    measured.whole = false;
  }
  if (work.stop()) return std::nullopt;
  return measured;
}

/// Reports the parts of the table that are missing for lack of time.
void NoteShort(const SearchConfig& config, Prepared& prepared) {
  const EstimateTable& table = prepared.estimates;
  if (config.time_budget_s <= 0 || table.key.empty()) return;
  if (table.planned == 0) {
    prepared.shortened.emplace_back("estimates: no decision was measured alone");
  } else if (table.tried < table.planned) {
    prepared.shortened.push_back("estimates: " + std::to_string(table.tried) + " of " +
                                 std::to_string(table.planned) + " decisions were measured alone");
  }
  if (!table.costs.contains(std::string(envs::kLatency))) {
    prepared.shortened.emplace_back("estimates: layers were not timed");
  }
}

}  // namespace

void PrepareEstimates(const SearchHost& host, const SearchConfig& config, const RunPaths& paths,
                      const TimeBudget& time, const envs::StrategyProblem& problem,
                      Measuring& measuring, const Say& say, const Stop& stop, Prepared& prepared) {
  if (auto own = TableOf(paths)) {
    if (!own->problem_hash.empty() && own->problem_hash != problem.Hash()) {
      throw UserError("'" + paths.folder +
                      "' has estimates of another model or config; choose another --out");
    }
    prepared.estimates = std::move(*own);
    NoteShort(config, prepared);
    return;
  }
  double seconds = config.estimate_s;
  if (config.time_budget_s > 0) {
    seconds = std::min(seconds, time_parts::kPlannedEstimates * config.time_budget_s);
  }
  const std::vector<Decision>& decisions = problem.decisions();
  const bool any = std::any_of(decisions.begin(), decisions.end(), [](const Decision& decision) {
    return ProbeOf(decision).has_value();
  });
  if (!any || seconds <= 0 || stop()) return;
  const SharedTables shared(config, problem, measuring, seconds);
  std::optional<EstimateTable> table = shared.Find();
  bool whole = true;
  if (!table) {
    Work work{host, paths, problem, measuring, say, stop, time};
    if (time.limited()) work.end = PartEnd(time, time_parts::kEstimates);
    auto measured = Measure(work, *prepared.graph, seconds, shared);
    if (!measured) return;
    // A table that was cut short is not shared with other searches.
    whole = measured->whole && !work.IsLate();
    table = std::move(measured->table);
  }
  if (whole) shared.Keep(*table);
  WriteFileAtomic(FileOf(paths), ToJsonText(*table, 1) + "\n");
  prepared.estimates = std::move(*table);
  NoteShort(config, prepared);
}

}  // namespace msc::gym
