#include "cost/partition/partition_study.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/partition/search/lazy.h"
#include "cost/partition/measure_candidates.h"
#include "cost/partition/propose.h"

namespace msc::cost {
namespace {

using Clock = std::chrono::steady_clock;
using Progress = std::function<void(const std::string&)>;
using Stop = std::function<bool()>;

constexpr double kNanosPerMicro = 1e3;
constexpr double kPartForRegions = 2.0 / 3;  ///< of the time for measuring

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The costs of candidates while they are measured.
struct Measuring {
  CoverProblem& problem;
  RegionCosts& costs;
  const PartitionStudyOptions& options;
  const Progress& progress;
  const Stop stop;  ///< also true when the time for regions is up
  CandidateMeasurer measure{problem, costs, progress, stop};
  std::optional<LearnedMeasuring> learned = {};  ///< if the model decides what to measure
  bool cut_short = false;  ///< time was up before lazy or learned measuring had a cover
};

/// What times whole plans.
struct PlanTimer {
  PlanTimes& times;
  const Progress& progress;
  const Stop& stop;
};

SearchOptions Searching(const PartitionStudyOptions& options) {
  return {.priority = options.targets};
}

/// Returns the problem without candidates of unknown cost, so that covers do not contain them.
CoverProblem KnownOnly(const CoverProblem& problem) {
  CoverProblem known = problem;
  for (CandidateRegion& candidate : known.candidates) {
    if (candidate.cost.unknown()) candidate.cost = Cost::Invalid("was not measured");
  }
  return known;
}

// --- costs of candidates -------------------------------------------------------------------------

/// Returns whether the model of costs knows enough to leave out measurements, and there is
/// something to measure. Searches other than exact choose among all costs.
bool LearnsCosts(const CoverProblem& problem, RegionCosts& costs,
                 const PartitionStudyOptions& options, LearnedUse& use) {
  if (!options.learned || options.search != "exact" || !options.compare.empty() ||
      !problem.conditions.empty()) {
    return false;
  }
  if (costs.CountUnknown(RegionsOf(problem, AllCandidates(problem))) == 0) return false;
  const RegionModel* const model = costs.model();
  if (model == nullptr) return false;
  use.errors = model->errors();
  return std::any_of(options.targets.begin(), options.targets.end(),
                     [&](const std::string& target) { return costs.CanPredict(target); });
}

/// After time was up: makes the costs of candidates unknown again if they, or others of equal cost,
/// were not reached. Returns how many are unknown, with those that lazy measuring did not request.
std::size_t CountUnmeasured(CoverProblem& problem) {
  std::size_t unmeasured = 0;
  for (CandidateRegion& candidate : problem.candidates) {
    if (candidate.cost.reason() == kNotReached) candidate.cost = Cost::Unknown();
    unmeasured += candidate.cost.unknown() ? 1 : 0;
  }
  return unmeasured;
}

void NoteLazy(const Result<Cover>& cover, Measuring& now, PartitionStudyResult& result) {
  if (cover.ok()) {
    result.lazy = cover.value().statistics;
    result.lower_bound = cover.value().lower_bound;
    result.gap = cover.value().gap();
  } else if (now.stop() || now.measure.missed() > 0) {
    now.cut_short = true;
  } else {
    throw UserError(cover.failure().detail);
  }
  result.bound_proven = false;
}

/// Measures the costs that the options ask for.
void FindCosts(Measuring& now, PartitionStudyResult& result) {
  const PartitionStudyOptions& options = now.options;
  const std::vector<std::uint32_t> alike =
      now.costs.Alike(RegionsOf(now.problem, AllCandidates(now.problem)));
  result.distinct = std::set(alike.begin(), alike.end()).size();
  if (options.lazy) {
    NoteLazy(MeasureLazily(now.problem, alike, *options.lazy, Searching(options),
                           std::ref(now.measure), now.stop),
             now, result);
  } else if (LearnsCosts(now.problem, now.costs, options, result.learned)) {
    if (now.progress) now.progress("predicting costs of regions");
    now.learned.emplace(now.problem, now.costs, alike, std::ref(now.measure), now.stop);
    NoteLazy(now.learned->Ask(Searching(options)), now, result);
  } else if (options.seconds > 0) {
    // In limited time, those without which covers are unlikely come first.
    for (const auto& part : ByNeed(now.problem)) now.measure.Store(part);
  } else {
    now.measure.Store(AllCandidates(now.problem));
  }
  if (now.measure.missed() > 0 || now.cut_short) result.unmeasured = CountUnmeasured(now.problem);
}

/// Requests further costs, with the price of boundaries.
void AskAgain(Measuring& now, PartitionStudyResult& result) {
  const Result<Cover> cover = now.learned->Ask(Searching(now.options), result.boundary);
  if (cover.ok()) {
    const CoverStatistics& more = cover.value().statistics;
    result.lazy.asked += more.asked;
    result.lazy.checked += more.checked;
    result.lazy.violated += more.violated;
    result.lazy.audited += more.audited;
    result.lazy.refuted += more.refuted;
  } else {
    now.cut_short = true;
  }
  if (now.measure.missed() > 0 || now.cut_short) result.unmeasured = CountUnmeasured(now.problem);
}

/// Sets the results of the whole study. Every request learned the bounds of other costs again, so a
/// later cover may be below the first lower bound.
void NoteLearned(Measuring& now, PartitionStudyResult& result) {
  result.learned = now.learned->Use();
  result.learned.audited = static_cast<std::size_t>(result.lazy.audited);
  result.learned.wrong = static_cast<std::size_t>(result.lazy.refuted);
  // Costs that the time did not suffice for may be needed, so they do not count as saved.
  if (result.unmeasured > 0) result.learned.skipped = 0;
  const Result<Cover> best = FindCover(KnownOnly(now.problem), "exact", Searching(now.options));
  if (!best.ok()) return;
  result.lower_bound = std::min(result.lower_bound, best.value().micros);
  result.gap = 1 - result.lower_bound / std::max(best.value().micros, 1e-9);
}

// --- plans ---------------------------------------------------------------------------------------

/// Adds the plan of the whole graph on one target, unless a condition forbids it.
void AddSingle(const CoverProblem& problem, const std::string& target,
               std::vector<TimedPartition>& plans) {
  for (const auto& [node, pinned] : problem.conditions.pins) {
    if (std::find(pinned.begin(), pinned.end(), target) == pinned.end()) return;
  }
  for (const RegionLimit& limit : problem.conditions.max_regions) {
    const auto& limited = limit.targets;
    if (limit.most == 0 && std::find(limited.begin(), limited.end(), target) != limited.end()) {
      return;
    }
  }
  TimedPartition plan{.name = target};
  plan.runner.target = target;
  for (const CandidateRegion& candidate : problem.candidates) {
    if (candidate.target == target && candidate.cost.known() &&
        candidate.nodes.Count() == problem.flow.size()) {
      if (candidate.bytes > problem.conditions.max_bytes.value_or(candidate.bytes)) return;
      plan.predicted_micros = candidate.cost.micros();
    }
  }
  plans.push_back(std::move(plan));
}

/// Adds the plan of a cover, unless it is there already.
void AddCover(const CoverProblem& problem, const std::string& name, const Cover& cover,
              std::vector<TimedPartition>& plans) {
  TimedPartition plan{.name = name};
  plan.chosen = cover.chosen;
  double sum = 0;
  for (const std::uint32_t i : cover.chosen) sum += problem.candidates[i].cost.micros();
  const Result<std::vector<ConversionStep>> turns = ConversionsNeeded(problem, cover.chosen);
  Check(turns.ok(), "a cover can be converted");
  for (const ConversionStep& turn : turns.value()) sum += turn.micros;
  plan.runner.partition = PlanOf(problem, cover.chosen);
  plan.runner.target = plan.runner.partition.front().target;
  // A plan of one region is the same as its target for the whole graph.
  if (plan.runner.partition.size() == 1) plan.runner.partition.clear();
  for (TimedPartition& other : plans) {
    if (!(other.runner == plan.runner)) continue;
    if (!other.predicted_micros) other.predicted_micros = sum;
    if (!name.starts_with("plan ")) other.also.push_back(name);
    return;
  }
  plan.predicted_micros = sum;
  plans.push_back(std::move(plan));
}

/// Adds the plan that a search finds with free boundaries, or the reason why it finds none.
void AddFoundBy(const std::string& search, const CoverProblem& problem,
                const PartitionStudyOptions& options, PartitionStudyResult& result) {
  const SideConditions& conditions = problem.conditions;
  const Search& found = FindSearch(search);
  const auto none = [&](std::string why) {
    result.without_plan.push_back({.search = search, .why = std::move(why)});
  };
  if (!conditions.max_regions.empty() && !found.regions) {
    return none("it cannot limit how many regions a target has");
  }
  if (conditions.max_bytes && !found.memory) return none("it cannot limit memory");
  const Clock::time_point start = Clock::now();
  const Result<Cover> cover = FindCover(KnownOnly(problem), search, Searching(options));
  result.seconds.search += SecondsSince(start);
  if (!cover.ok()) {
    return none(cover.failure().detail +
                (options.lazy ? ", among the regions that lazy measuring requested" : ""));
  }
  AddCover(problem, search, cover.value(), result.plans);
}

/// Returns the best covers that the search of the options finds.
Result<std::vector<Cover>> BestCovers(const CoverProblem& problem, std::size_t count,
                                      const PartitionStudyOptions& options) {
  if (options.search == "exact") return FindBestCovers(problem, count, Searching(options));
  Result<Cover> cover = FindCover(problem, options.search, Searching(options));
  if (!cover.ok()) return cover.failure();
  return std::vector<Cover>{std::move(cover).value()};
}

/// Adds the best covers under the price of boundaries.
void AddBestCovers(std::size_t count, const CoverProblem& problem,
                   const PartitionStudyOptions& options, PartitionStudyResult& result) {
  const CoverProblem priced = WithBoundaries(KnownOnly(problem), result.boundary);
  const Clock::time_point start = Clock::now();
  const Result<std::vector<Cover>> covers = BestCovers(priced, count, options);
  if (!covers.ok()) {
    // The costs measured in time may not suffice for a cover; then only single targets remain.
    if (result.unmeasured > 0) return;
    throw UserError(covers.failure().detail);
  }
  const double seconds = SecondsSince(start);
  result.seconds.search += seconds;
  if (result.seconds.solve == 0 && !covers.value().empty()) {
    const Cover& first = covers.value().front();
    result.seconds.solve = seconds;
    result.statistics = first.statistics;
    if (result.bound_proven) {
      result.lower_bound = first.lower_bound;
      result.gap = first.gap();
    }
  }
  std::vector<TimedPartition>& plans = result.plans;
  for (const Cover& cover : covers.value()) {
    const auto earlier = std::count_if(plans.begin(), plans.end(), [](const TimedPartition& plan) {
      return plan.name.starts_with("plan ");
    });
    AddCover(problem, "plan " + std::to_string(earlier + 1), cover, plans);
  }
}

// --- timing --------------------------------------------------------------------------------------

std::vector<std::size_t> IndicesFrom(std::size_t first, const std::vector<TimedPartition>& plans) {
  std::vector<std::size_t> indices(plans.size() - first);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

/// Times these plans interleaved and returns their latencies by position. A failed plan has none
/// and gets the reason.
std::vector<std::optional<Latency>> Latencies(const std::vector<std::size_t>& indices,
                                              const PlanTimer& timer,
                                              PartitionStudyResult& result) {
  if (timer.progress) timer.progress("timing " + std::to_string(indices.size()) + " whole plans");
  std::vector<RegionRunner> runners;
  runners.reserve(indices.size());
  for (const std::size_t i : indices) runners.push_back(result.plans[i].runner);
  const PlanTimes::Timed timed = timer.times.Time(runners, timer.stop);
  if (!timed.taken.empty() && (result.taken.empty() || timed.taken < result.taken)) {
    result.taken = timed.taken;
  }
  std::vector<std::optional<Latency>> latencies;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Result<Outcome>& outcome = timed.outcomes[i];
    if (outcome.ok()) {
      latencies.push_back(outcome.value().latency);
    } else {
      latencies.emplace_back();
      result.plans[indices[i]].failure =
          std::string(Name(outcome.failure().kind)) + ": " + outcome.failure().detail;
    }
  }
  return latencies;
}

void Note(const Latency& latency, double by, TimedPartition& plan) {
  plan.measured_micros = latency.median_ns / kNanosPerMicro;
  plan.ratio = latency.ratio / by;
  plan.ratio_low = latency.ratio_low / by;
  plan.ratio_high = latency.ratio_high / by;
}

/// Times the plans of these indices, interleaved. `reference` is the plan that ratios refer to. It
/// is chosen once: the fastest single target of the first group, else its fastest plan.
void Time(const std::vector<std::size_t>& indices, const PlanTimer& timer,
          std::optional<std::size_t>& reference, PartitionStudyResult& result) {
  const std::vector<std::optional<Latency>> latencies = Latencies(indices, timer, result);
  const auto key = [&](std::size_t i) {
    return std::pair(!result.plans[indices[i]].chosen.empty(), latencies[i]->median_ns);
  };
  std::optional<std::size_t> place;  // of the reference in the group
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!latencies[i]) continue;
    if (reference ? indices[i] == *reference : !place || key(i) < key(*place)) place = i;
  }
  if (!place) return;
  reference = indices[*place];
  for (std::size_t i = 0; i < indices.size(); ++i) {
    // Measured ratios refer to the first plan of the group.
    if (latencies[i]) Note(*latencies[i], latencies[*place]->ratio, result.plans[indices[i]]);
  }
}

std::optional<std::size_t> Fastest(bool single, const std::vector<TimedPartition>& plans) {
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].measured_micros || plans[i].chosen.empty() != single) continue;
    if (!fastest || plans[i].ratio < plans[*fastest].ratio) fastest = i;
  }
  return fastest;
}

/// Chooses between the fastest single target and the fastest combination.
void Decide(const PlanTimer& timer, const Stop& stopped, PartitionStudyResult& result) {
  result.single = Fastest(true, result.plans);
  result.mixed = Fastest(false, result.plans);
  result.best = result.single ? result.single : result.mixed;
  if (!result.single || !result.mixed || stopped()) return;
  // The fastest of many plans was partly lucky, so it must be faster in another measurement, alone
  // against the single target.
  const std::vector<std::optional<Latency>> latencies =
      Latencies({*result.single, *result.mixed}, timer, result);
  if (!latencies[0] || !latencies[1]) return;
  Note(*latencies[0], 1, result.plans[*result.single]);
  Note(*latencies[1], 1, result.plans[*result.mixed]);
  if (latencies[1]->ratio_high < 1) result.best = result.mixed;
}

// --- the study -----------------------------------------------------------------------------------

/// Adds the plans that are timed first: single targets, those of the compared searches, and the
/// best cover. While boundaries are free, the best cover has many of them and the single targets
/// have none, so their times show what boundaries cost.
void AddFirstPlans(const CoverProblem& problem, const PartitionStudyOptions& options,
                   PartitionStudyResult& result) {
  for (const std::string& target : options.targets) AddSingle(problem, target, result.plans);
  AddFoundBy("greedy", problem, options, result);
  std::set<std::string> added = {"greedy"};
  for (const std::string& search : options.compare) {
    if (added.insert(search).second) AddFoundBy(search, problem, options, result);
  }
  AddBestCovers(1, problem, options, result);
}

/// Fits the price of boundaries, searches again and times the new plans; until there are none, or
/// `ends` returns true.
void Refine(Measuring& now, const PlanTimer& timer, const Stop& ends,
            std::optional<std::size_t> reference, PartitionStudyResult& result) {
  for (std::size_t round = 0; round < now.options.rounds && !ends(); ++round) {
    result.boundary = FitBoundary(now.problem, result.plans);
    // With a price of boundaries, other regions may be worth measuring.
    if (now.learned && !now.stop()) AskAgain(now, result);
    const std::size_t before = result.plans.size();
    AddBestCovers(now.options.plans, now.problem, now.options, result);
    if (result.plans.size() == before) break;
    // Time new plans interleaved with the best plan so far and with the reference of ratios.
    std::vector<std::size_t> timed;
    if (reference) timed.push_back(*reference);
    const auto best = Fastest(false, result.plans);
    if (best && best != reference) timed.push_back(*best);
    for (const std::size_t i : IndicesFrom(before, result.plans)) timed.push_back(i);
    Time(timed, timer, reference, result);
  }
}

}  // namespace

PartitionStudyResult StudyPartitions(CoverProblem& problem, RegionCosts& costs, PlanTimes& times,
                                     const PartitionStudyOptions& options, const Progress& progress,
                                     const Stop& stop) {
  const Clock::time_point start = Clock::now();
  PartitionStudyResult result;
  const Stop stopped = [&] {
    result.stopped = result.stopped || (stop && stop());
    return result.stopped;
  };
  const auto time_is_up = [&](double part) {  // whether that part of the time limit has passed
    return options.seconds > 0 && SecondsSince(start) > part * options.seconds;
  };
  Measuring measuring{
      .problem = problem, .costs = costs, .options = options, .progress = progress, .stop = [&] {
        return stopped() || time_is_up(kPartForRegions);
      }};
  FindCosts(measuring, result);
  if (!stopped()) AddFirstPlans(problem, options, result);
  if (!stopped()) {
    const PlanTimer timer{.times = times, .progress = progress, .stop = stop};
    std::optional<std::size_t> reference;
    Time(IndicesFrom(0, result.plans), timer, reference, result);
    Refine(
        measuring, timer, [&] { return stopped() || time_is_up(1); }, reference, result);
    Decide(timer, stopped, result);
    if (measuring.learned) NoteLearned(measuring, result);
  }
  const RegionMeter::Spent& regions = costs.spent();
  const RegionMeter::Spent& plans = times.spent();
  StudySeconds& seconds = result.seconds;
  seconds.kernels = regions.kernels + plans.kernels;
  seconds.build_regions = regions.build;
  seconds.time_regions = regions.timing;
  seconds.build_plans = plans.build;
  seconds.time_plans = plans.timing;
  seconds.waiting = regions.waiting + plans.waiting;
  seconds.all = SecondsSince(start);
  return result;
}

}  // namespace msc::cost
