#include "cost/partition/partition_study.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "cost/partition/measuring_time.h"
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

Cost CostFrom(const Result<Outcome>& outcome) {
  if (!outcome.ok()) {
    return Cost::Invalid(std::string(Name(outcome.failure().kind)) + ": " +
                         outcome.failure().detail);
  }
  const double micros = outcome.value().latency.value().median_ns / kNanosPerMicro;
  if (!(micros <= Cost::kMaxMicros)) return Cost::Invalid("takes longer than a cost may be");
  return Cost::Micros(micros);
}

std::vector<MeasuredRegion> RegionsOf(const CoverProblem& problem) {
  std::vector<MeasuredRegion> regions;
  regions.reserve(problem.candidates.size());
  for (const CandidateRegion& candidate : problem.candidates) {
    regions.push_back({NodeNames(problem, candidate), candidate.target});
  }
  return regions;
}

/// Measures the given candidates and stores the required memory in the problem. Returns their
/// costs.
class Measurer {
 public:
  Measurer(CoverProblem& problem, RegionCosts& costs, const Progress& progress, const Stop& stop)
      : problem_(problem), costs_(costs), progress_(progress), stop_(stop) {}

  std::vector<Cost> operator()(std::span<const std::uint32_t> candidates) {
    std::vector<MeasuredRegion> regions;
    regions.reserve(candidates.size());
    for (const std::uint32_t i : candidates) {
      regions.push_back(
          {NodeNames(problem_, problem_.candidates[i]), problem_.candidates[i].target});
    }
    std::vector<Cost> found(candidates.size(), Cost::Invalid(kNotReached));
    if (stop_ && stop_()) {
      missed_ += candidates.size();
      return found;
    }
    std::size_t done = 0;
    MeasuringTime time(costs_.ExpectedSeconds());
    if (progress_) progress_("looking up known costs of regions");
    costs_.Measure(
        regions,
        [&](std::size_t i, const Result<Outcome>& outcome) {
          found[i] = CostFrom(outcome);
          if (outcome.ok()) {
            problem_.candidates[candidates[i]].bytes =
                outcome.value().weight_bytes + outcome.value().peak_bytes;
          }
          ++done;
        },
        stop_,
        [&](const RegionMeter::Progress& now) {
          if (progress_) progress_(time.Text(now, SecondsSince(start_)));
        });
    missed_ += candidates.size() - done;
    return found;
  }

  /// Returns how many candidates were not reached before `stop` returned true.
  [[nodiscard]] std::size_t missed() const noexcept { return missed_; }

 private:
  CoverProblem& problem_;
  RegionCosts& costs_;
  const Progress& progress_;
  const Stop& stop_;
  const Clock::time_point start_ = Clock::now();
  std::size_t missed_ = 0;
};

/// Returns the indices of whole graphs, of the regions without which other covers are unlikely, and
/// of the others.
std::vector<std::vector<std::uint32_t>> ByNeed(const CoverProblem& problem) {
  std::vector<std::vector<std::uint32_t>> parts(3);
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    const CandidateRegion& candidate = problem.candidates[i];
    const bool whole = candidate.nodes.Count() == problem.flow.size();
    const bool unit = candidate.rule == "unit" || candidate.rule == "node";
    parts[whole ? 0 : unit ? 1 : 2].push_back(i);
  }
  return parts;
}

class Study {
 public:
  Study(CoverProblem& problem, RegionCosts& costs, PlanTimes& times,
        const PartitionStudyOptions& options, const Progress& progress, const Stop& stop)
      : problem_(problem),
        costs_(costs),
        times_(times),
        options_(options),
        progress_(progress),
        stop_(stop),
        stop_measuring_([this] { return Stopped() || TimeIsUp(kPartForRegions); }),
        measure_(problem, costs, progress, stop_measuring_) {}

  PartitionStudyResult Run() {
    Find();
    StudySeconds& seconds = result_.seconds;
    const RegionMeter::Spent& regions = costs_.spent();
    const RegionMeter::Spent& plans = times_.spent();
    seconds.kernels = regions.kernels + plans.kernels;
    seconds.build_regions = regions.build;
    seconds.time_regions = regions.timing;
    seconds.build_plans = plans.build;
    seconds.time_plans = plans.timing;
    seconds.waiting = regions.waiting + plans.waiting;
    seconds.all = SecondsSince(start_);
    return std::move(result_);
  }

 private:
  void Find() {
    FindCosts();
    if (Stopped()) return;
    for (const std::string& target : options_.targets) AddSingle(target);
    std::vector<std::string> compared = {"greedy"};
    for (const std::string& search : options_.compare) {
      if (std::find(compared.begin(), compared.end(), search) == compared.end()) {
        compared.push_back(search);
      }
    }
    for (const std::string& search : compared) AddFoundBy(search);
    // While boundaries are free, the best cover has many of them and the single targets have none,
    // so their times show what boundaries cost.
    AddBestCovers(1);
    if (Stopped()) return;
    Time(Indices(0));
    for (std::size_t round = 0; round < options_.rounds && !Stopped() && !TimeIsUp(1); ++round) {
      result_.boundary = FitBoundary(problem_, result_.plans);
      // With a price of boundaries, other regions may be worth measuring.
      if (learned_ && !stop_measuring_()) AskAgain();
      const std::size_t before = result_.plans.size();
      AddBestCovers(options_.plans);
      if (result_.plans.size() == before) break;
      // Time new plans interleaved with the best plan so far and with the reference of ratios.
      std::vector<std::size_t> timed;
      if (reference_) timed.push_back(*reference_);
      if (const auto best = Fastest(false); best && best != reference_) timed.push_back(*best);
      for (const std::size_t i : Indices(before)) timed.push_back(i);
      Time(timed);
    }
    Decide();
    if (learned_) NoteLearned();
  }

  bool Stopped() {
    result_.stopped = result_.stopped || (stop_ && stop_());
    return result_.stopped;
  }

  /// Returns whether that part of the time limit has passed.
  [[nodiscard]] bool TimeIsUp(double part) const {
    return options_.seconds > 0 && SecondsSince(start_) > part * options_.seconds;
  }

  /// Returns the candidates in the order in which they are measured. In limited time, those without
  /// which covers are unlikely come first.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> MeasuringOrder() const {
    if (options_.seconds > 0) return ByNeed(problem_);
    std::vector<std::uint32_t> all(problem_.candidates.size());
    std::iota(all.begin(), all.end(), 0U);
    return {all};
  }

  [[nodiscard]] std::vector<std::size_t> Indices(std::size_t from) const {
    std::vector<std::size_t> indices(result_.plans.size() - from);
    std::iota(indices.begin(), indices.end(), from);
    return indices;
  }

  [[nodiscard]] SearchOptions Searching() const {
    SearchOptions search;
    search.priority = options_.targets;
    return search;
  }

  /// Adds the plan of the whole graph on one target, unless a condition forbids it.
  void AddSingle(const std::string& target) {
    for (const auto& [node, pinned] : problem_.conditions.pins) {
      if (std::find(pinned.begin(), pinned.end(), target) == pinned.end()) return;
    }
    for (const RegionLimit& limit : problem_.conditions.max_regions) {
      const auto& limited = limit.targets;
      if (limit.most == 0 && std::find(limited.begin(), limited.end(), target) != limited.end()) {
        return;
      }
    }
    TimedPartition plan{.name = target};
    plan.runner.target = target;
    for (const CandidateRegion& candidate : problem_.candidates) {
      if (candidate.target == target && candidate.cost.known() &&
          candidate.nodes.Count() == problem_.flow.size()) {
        if (candidate.bytes > problem_.conditions.max_bytes.value_or(candidate.bytes)) return;
        plan.predicted_micros = candidate.cost.micros();
      }
    }
    result_.plans.push_back(std::move(plan));
  }

  void FindCosts() {
    const std::vector<std::uint32_t> alike = costs_.Alike(RegionsOf(problem_));
    result_.distinct = std::set(alike.begin(), alike.end()).size();
    if (options_.lazy) {
      const Result<Cover> cover = MeasureLazily(problem_, alike, *options_.lazy, Searching(),
                                                std::ref(measure_), stop_measuring_);
      NoteLazy(cover);
    } else if (LearnsCosts()) {
      if (progress_) progress_("predicting costs of regions");
      learned_.emplace(problem_, costs_, alike, std::ref(measure_), stop_measuring_);
      const Result<Cover> cover = learned_->Ask(Searching());
      NoteLazy(cover);
    } else {
      for (const std::vector<std::uint32_t>& part : MeasuringOrder()) {
        if (part.empty()) continue;
        const std::vector<Cost> found = measure_(part);
        for (std::size_t i = 0; i < part.size(); ++i) problem_.candidates[part[i]].cost = found[i];
      }
    }
    if (measure_.missed() > 0 || cut_short_) CountUnmeasured();
  }

  /// Requests further costs, with the price of boundaries.
  void AskAgain() {
    const Result<Cover> cover = learned_->Ask(Searching(), result_.boundary);
    if (cover.ok()) {
      const CoverStatistics& more = cover.value().statistics;
      result_.lazy.asked += more.asked;
      result_.lazy.checked += more.checked;
      result_.lazy.violated += more.violated;
      result_.lazy.audited += more.audited;
      result_.lazy.refuted += more.refuted;
    } else {
      cut_short_ = true;
    }
    if (measure_.missed() > 0 || cut_short_) CountUnmeasured();
  }

  /// Sets the results of the whole study. Every request learned the bounds of other costs again, so
  /// a later cover may be below the first lower bound.
  void NoteLearned() {
    result_.learned = learned_->Use();
    result_.learned.audited = static_cast<std::size_t>(result_.lazy.audited);
    result_.learned.wrong = static_cast<std::size_t>(result_.lazy.refuted);
    // Costs that the time did not suffice for may be needed, so they do not count as saved.
    if (result_.unmeasured > 0) result_.learned.skipped = 0;
    const Result<Cover> best = FindCover(KnownOnly(), "exact", Searching());
    if (!best.ok()) return;
    result_.lower_bound = std::min(result_.lower_bound, best.value().micros);
    result_.gap = 1 - result_.lower_bound / std::max(best.value().micros, 1e-9);
  }

  void NoteLazy(const Result<Cover>& cover) {
    if (cover.ok()) {
      result_.lazy = cover.value().statistics;
      result_.lower_bound = cover.value().lower_bound;
      result_.gap = cover.value().gap();
    } else if (stop_measuring_() || measure_.missed() > 0) {
      cut_short_ = true;
    } else {
      throw UserError(cover.failure().detail);
    }
    result_.bound_proven = false;
  }

  /// Returns whether the model of costs knows enough to leave out measurements, and there is
  /// something to measure. Searches other than exact choose among all costs.
  [[nodiscard]] bool LearnsCosts() {
    if (!options_.learned || options_.search != "exact" || !options_.compare.empty() ||
        !problem_.conditions.empty()) {
      return false;
    }
    if (costs_.CountUnknown(RegionsOf(problem_)) == 0) return false;
    const RegionModel* const model = costs_.model();
    if (model == nullptr) return false;
    result_.learned.errors = model->errors();
    return std::any_of(options_.targets.begin(), options_.targets.end(),
                       [&](const std::string& target) { return costs_.CanPredict(target); });
  }

  /// After time was up: makes the costs of candidates unknown again if they, or others of equal
  /// cost, were not reached, and counts them together with those that lazy measuring did not
  /// request.
  void CountUnmeasured() {
    result_.unmeasured = 0;
    for (CandidateRegion& candidate : problem_.candidates) {
      if (candidate.cost.reason() == kNotReached) candidate.cost = Cost::Unknown();
      result_.unmeasured += candidate.cost.unknown() ? 1 : 0;
    }
  }

  /// Returns the problem without candidates of unknown cost, so that covers do not contain them.
  [[nodiscard]] CoverProblem KnownOnly() const {
    CoverProblem known = problem_;
    for (CandidateRegion& candidate : known.candidates) {
      if (candidate.cost.unknown()) candidate.cost = Cost::Invalid("was not measured");
    }
    return known;
  }

  /// Adds the plan that a search finds with free boundaries, or the reason why it finds none.
  void AddFoundBy(const std::string& search) {
    const SideConditions& conditions = problem_.conditions;
    const Search& found = FindSearch(search);
    const auto none = [&](std::string why) {
      result_.without_plan.push_back({.search = search, .why = std::move(why)});
    };
    if (!conditions.max_regions.empty() && !found.regions) {
      return none("it cannot limit how many regions a target has");
    }
    if (conditions.max_bytes && !found.memory) return none("it cannot limit memory");
    const Clock::time_point start = Clock::now();
    const Result<Cover> cover = FindCover(KnownOnly(), search, Searching());
    result_.seconds.search += SecondsSince(start);
    if (!cover.ok()) {
      return none(cover.failure().detail +
                  (options_.lazy ? ", among the regions that lazy measuring requested" : ""));
    }
    (void)AddCover(search, cover.value());
  }

  void AddBestCovers(std::size_t count) {
    const bool first = result_.seconds.solve == 0;
    const CoverProblem priced = WithBoundaries(KnownOnly(), result_.boundary);
    const Clock::time_point start = Clock::now();
    std::vector<Cover> covers;
    if (options_.search == "exact") {
      Result<std::vector<Cover>> best = FindBestCovers(priced, count, Searching());
      if (!best.ok()) return FailUnlessTimeWasUp(best.failure());
      covers = std::move(best).value();
    } else {
      Result<Cover> cover = FindCover(priced, options_.search, Searching());
      if (!cover.ok()) return FailUnlessTimeWasUp(cover.failure());
      covers.push_back(std::move(cover).value());
    }
    const double seconds = SecondsSince(start);
    result_.seconds.search += seconds;
    if (first && !covers.empty()) {
      result_.seconds.solve = seconds;
      result_.statistics = covers.front().statistics;
      if (!options_.lazy && !learned_) {
        result_.lower_bound = covers.front().lower_bound;
        result_.gap = covers.front().gap();
      }
    }
    for (const Cover& cover : covers) {
      if (AddCover("plan " + std::to_string(next_plan_), cover)) {
        ++next_plan_;
      }
    }
  }

  /// Throws unless time was up: the costs measured in time may not suffice for a cover, and then
  /// only single targets remain.
  void FailUnlessTimeWasUp(const Failure& failure) const {
    if (result_.unmeasured == 0) throw UserError(failure.detail);
  }

  /// Adds the plan of a cover. Returns whether it is new.
  bool AddCover(const std::string& name, const Cover& cover) {
    TimedPartition plan{.name = name};
    plan.chosen = cover.chosen;
    double sum = 0;
    for (const std::uint32_t i : cover.chosen) sum += problem_.candidates[i].cost.micros();
    const Result<std::vector<ConversionStep>> turns = Conversions(problem_, cover.chosen);
    Check(turns.ok(), "a cover can be converted");
    for (const ConversionStep& turn : turns.value()) sum += turn.micros;
    plan.runner.partition = PlanOf(problem_, cover.chosen);
    plan.runner.target = plan.runner.partition.front().target;
    // A plan of one region is the same as its target for the whole graph.
    if (plan.runner.partition.size() == 1) plan.runner.partition.clear();
    for (TimedPartition& other : result_.plans) {
      if (!(other.runner == plan.runner)) continue;
      if (!other.predicted_micros) other.predicted_micros = sum;
      if (!name.starts_with("plan ")) other.also.push_back(name);
      return false;
    }
    plan.predicted_micros = sum;
    result_.plans.push_back(std::move(plan));
    return true;
  }

  /// Times these plans interleaved and returns their latencies by position. A failed plan has none
  /// and gets the reason.
  std::vector<std::optional<Latency>> Latencies(const std::vector<std::size_t>& indices) {
    if (progress_) progress_("timing " + std::to_string(indices.size()) + " whole plans");
    std::vector<RegionRunner> runners;
    runners.reserve(indices.size());
    for (const std::size_t i : indices) runners.push_back(result_.plans[i].runner);
    const PlanTimes::Timed timed = times_.Time(runners, stop_);
    if (!timed.taken.empty() && (result_.taken.empty() || timed.taken < result_.taken)) {
      result_.taken = timed.taken;
    }
    std::vector<std::optional<Latency>> latencies;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Result<Outcome>& outcome = timed.outcomes[i];
      if (outcome.ok()) {
        latencies.push_back(outcome.value().latency);
      } else {
        latencies.emplace_back();
        result_.plans[indices[i]].failure =
            std::string(Name(outcome.failure().kind)) + ": " + outcome.failure().detail;
      }
    }
    return latencies;
  }

  /// Times the plans of these indices, interleaved.
  void Time(const std::vector<std::size_t>& indices) {
    const std::vector<std::optional<Latency>> latencies = Latencies(indices);
    // The reference is chosen once: the fastest single target of the first group, else its fastest
    // plan.
    std::size_t reference = indices.size();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (!latencies[i]) continue;
      if (reference_ ? indices[i] == *reference_ : Before(indices, latencies, i, reference)) {
        reference = i;
      }
    }
    if (reference == indices.size()) return;
    reference_ = indices[reference];
    for (std::size_t i = 0; i < indices.size(); ++i) {
      // Measured ratios refer to the first plan of the group.
      if (latencies[i]) Note(indices[i], *latencies[i], latencies[reference]->ratio);
    }
  }

  void Note(std::size_t index, const Latency& latency, double by) {
    TimedPartition& plan = result_.plans[index];
    plan.measured_micros = latency.median_ns / kNanosPerMicro;
    plan.ratio = latency.ratio / by;
    plan.ratio_low = latency.ratio_low / by;
    plan.ratio_high = latency.ratio_high / by;
  }

  /// Returns whether plan i of a group is a better reference than `other`, or there is no other.
  [[nodiscard]] bool Before(const std::vector<std::size_t>& indices,
                            const std::vector<std::optional<Latency>>& latencies, std::size_t i,
                            std::size_t other) const {
    if (other == indices.size()) return true;
    const bool single = result_.plans[indices[i]].chosen.empty();
    const bool other_single = result_.plans[indices[other]].chosen.empty();
    if (single != other_single) return single;
    return latencies[i]->median_ns < latencies[other]->median_ns;
  }

  [[nodiscard]] std::optional<std::size_t> Fastest(bool single) const {
    std::optional<std::size_t> fastest;
    for (std::size_t i = 0; i < result_.plans.size(); ++i) {
      const TimedPartition& plan = result_.plans[i];
      if (!plan.measured_micros || plan.chosen.empty() != single) continue;
      if (!fastest || plan.ratio < result_.plans[*fastest].ratio) fastest = i;
    }
    return fastest;
  }

  void Decide() {
    result_.single = Fastest(true);
    result_.mixed = Fastest(false);
    result_.best = result_.single ? result_.single : result_.mixed;
    if (!result_.single || !result_.mixed || Stopped()) return;
    // The fastest of many plans was partly lucky, so it must be faster in another measurement,
    // alone against the single target.
    const std::vector<std::optional<Latency>> latencies =
        Latencies({*result_.single, *result_.mixed});
    if (!latencies[0] || !latencies[1]) return;
    Note(*result_.single, *latencies[0], 1);
    Note(*result_.mixed, *latencies[1], 1);
    if (latencies[1]->ratio_high < 1) result_.best = result_.mixed;
  }

  CoverProblem& problem_;
  RegionCosts& costs_;
  PlanTimes& times_;
  const PartitionStudyOptions& options_;
  const Progress& progress_;
  const Stop& stop_;
  const Stop stop_measuring_;
  Measurer measure_;
  std::optional<LearnedMeasuring> learned_;  ///< if the model decides what to measure
  const Clock::time_point start_ = Clock::now();
  PartitionStudyResult result_;
  std::optional<std::size_t> reference_;  ///< the plan that ratios refer to
  int next_plan_ = 1;
  bool cut_short_ = false;  ///< time was up before lazy or learned measuring had a cover
};

}  // namespace

void MeasureCandidates(CoverProblem& problem, RegionCosts& costs, const Progress& progress,
                       const Stop& stop) {
  std::vector<std::uint32_t> all(problem.candidates.size());
  std::iota(all.begin(), all.end(), 0U);
  const std::vector<Cost> found = Measurer(problem, costs, progress, stop)(all);
  for (const std::uint32_t i : all) problem.candidates[i].cost = found[i];
}

void MeasureInTime(CoverProblem& problem, RegionCosts& costs, const Progress& progress,
                   const Stop& stop, const Stop& late) {
  const Stop ends = [&] { return (stop && stop()) || (late && late()); };
  Measurer whole(problem, costs, progress, stop);
  Measurer others(problem, costs, progress, ends);
  const std::vector<std::vector<std::uint32_t>> parts = ByNeed(problem);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].empty()) continue;
    const std::vector<Cost> found = (k == 0 ? whole : others)(parts[k]);
    for (std::size_t i = 0; i < parts[k].size(); ++i) {
      problem.candidates[parts[k][i]].cost = found[i];
    }
  }
}

LearnedUse MeasureLearnedCandidates(CoverProblem& problem, RegionCosts& costs,
                                    const Progress& progress, const Stop& stop) {
  if (costs.model() == nullptr) {  // there is no folder for samples
    MeasureCandidates(problem, costs, progress, stop);
    return {};
  }
  Measurer measure(problem, costs, progress, stop);
  const std::vector<std::uint32_t> alike = costs.Alike(RegionsOf(problem));
  LearnedUse use = MeasureFastest(problem, costs, alike, std::ref(measure));
  for (CandidateRegion& candidate : problem.candidates) {
    if (candidate.cost.unknown()) {
      candidate.cost = Cost::Invalid("was not measured: another target is predicted to be faster");
    }
  }
  return use;
}

PartitionStudyResult StudyPartitions(CoverProblem& problem, RegionCosts& costs, PlanTimes& times,
                                     const PartitionStudyOptions& options, const Progress& progress,
                                     const Stop& stop) {
  return Study(problem, costs, times, options, progress, stop).Run();
}

}  // namespace msc::cost
