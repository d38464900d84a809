#include "gym/search/estimates.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/compress/prune/prune.h"
#include "cost/measure/local_evaluator.h"
#include "envs/common/evaluation.h"
#include "envs/common/quantity.h"
#include "gym/search/measuring.h"
#include "gym/search/phase_time.h"
#include "gym/search/probes.h"
#include "gym/search/record.h"

namespace msc::gym {
namespace {

using Say = std::function<void(const std::string&)>;
using Stop = std::function<bool()>;

constexpr double kPlainBits = 32;

/// Returns the noise of a choice relative to int8, or to half of the channels. One bit less doubles
/// the step of a grid; the loss by pruning is modelled as quadratic in the fraction removed.
double Severity(const Decision& decision, std::int32_t choice) {
  constexpr double kOfBf16 = 1.0 / 16;
  if (const auto bits = AmountOf(decision, envs::kBits, choice)) {
    return *bits <= 8 ? std::exp2(8 - *bits) : *bits < kPlainBits ? kOfBf16 : 0;
  }
  const double gone = 1 - AmountOf(decision, envs::kDensity, choice).value_or(1);
  return gone * gone;
}

/// Returns the relative saving of weight bytes by a choice. Weights of fewer than 8 bits are stored
/// with 8.
double Saving(const Decision& decision, std::int32_t choice) {
  if (const auto bits = AmountOf(decision, envs::kBits, choice)) {
    return 1 - std::max(8.0, *bits) / kPlainBits;
  }
  return 1 - AmountOf(decision, envs::kDensity, choice).value_or(1);
}

/// Interpolates the effects of all choices of all decisions from those of the probes, in proportion
/// to `share` of a choice. Decisions without a probe get the mean effect of their kind.
class Interpolation {
 public:
  explicit Interpolation(const std::vector<Decision>& decisions) : decisions_(decisions) {}

  [[nodiscard]] AdditiveCost Of(double offset, const std::map<std::size_t, double>& probed,
                                double (*share)(const Decision&, std::int32_t)) const {
    std::map<bool, std::pair<double, int>> sums;  // keyed by whether the decision is a precision
    for (const auto& [i, effect] : probed) {
      auto& [sum, count] = sums[IsPrecision(i)];
      sum += effect;
      ++count;
    }
    AdditiveCost cost{.offset = offset, .effects = {}};
    for (std::size_t i = 0; i < decisions_.size(); ++i) {
      const Decision& decision = decisions_[i];
      std::vector<double>& effects = cost.effects.emplace_back(decision.choices.size(), 0.0);
      const std::optional<std::int32_t> probe = ProbeOf(decision);
      if (!probe) continue;
      const auto own = probed.find(i);
      const auto& [sum, count] = sums[IsPrecision(i)];
      const double effect = own != probed.end() ? own->second : count > 0 ? sum / count : 0;
      const double of_probe = share(decision, *probe);
      for (std::size_t c = 0; c < effects.size() && of_probe > 0; ++c) {
        effects[c] = effect * share(decision, static_cast<std::int32_t>(c)) / of_probe;
      }
    }
    return cost;
  }

 private:
  [[nodiscard]] bool IsPrecision(std::size_t i) const {
    return decisions_[i].quantity == envs::kBits;
  }

  const std::vector<Decision>& decisions_;
};

/// Adds losses and sizes by the probes. The uncompressed model has no loss.
void AddQuality(const std::vector<Decision>& decisions, const ProbeRun& run,
                std::optional<std::int64_t> bytes, std::map<std::string, AdditiveCost>& costs) {
  std::map<std::string_view, std::map<std::size_t, double>> effects;
  std::map<std::size_t, double> saved;
  for (const auto& [i, result] : run.result) {
    if (!result.ok()) continue;
    const cost::Quality& quality = result.value().quality;
    effects[envs::kDistillLoss][i] = quality.kl;
    effects[envs::kDisagreement][i] = quality.Disagreement();
    if (const auto drop = quality.AccuracyDrop()) effects[envs::kAccuracyDrop][i] = *drop;
    if (bytes) saved[i] = static_cast<double>(result.value().weight_bytes - *bytes);
  }
  const Interpolation interpolation(decisions);
  for (const auto& [metric, probed] : effects) {
    costs[std::string(metric)] = interpolation.Of(0, probed, Severity);
  }
  if (bytes) {
    costs[std::string(envs::kWeightBytes)] =
        interpolation.Of(static_cast<double>(*bytes), saved, Saving);
  }
}

/// Returns whether the result is void because another process ended the measurement.
bool WasLost(const Result<cost::Outcome>& result) {
  return !result.ok() && result.failure().kind == FailureKind::kLost;
}

/// Returns the bytes of the uncompressed model's weights.
std::optional<std::int64_t> BytesOf(const SearchProblem& problem, cost::Evaluator& evaluator,
                                    const Stop& stop) {
  const Assignment none(problem.decisions().size(), 0);
  const cost::Candidate candidate{.strategy = StrategyFromJson(problem.Describe(none), "a probe"),
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

/// Returns the layers that a decision changes, by comparing strategies with and without it.
std::vector<std::string> LayersOf(const PruneSpace& space, const Strategy& without,
                                  const Strategy& with) {
  std::vector<std::string> layers;
  for (const auto& [layer, precision] : with.quantize.layers) {
    const auto it = without.quantize.layers.find(layer);
    const Precision before = it == without.quantize.layers.end() ? Precision::kF32 : it->second;
    if (precision != before) layers.push_back(layer);
  }
  for (const auto& [name, group] : with.prune.groups) {
    const PruneGroup* found = space.Find(name);
    if (found != nullptr) layers.insert(layers.end(), found->layers.begin(), found->layers.end());
  }
  return layers;
}

/// Returns the nanoseconds of each of `layers` in a profile. The time of a step is divided equally
/// among the layers that it computes.
std::map<std::string, double> TimesOf(const cost::Profile& profile,
                                      const std::set<std::string>& layers) {
  std::map<std::string, double> times;
  for (const cost::StepProfile& step : profile.steps) {
    std::vector<std::string> own;
    for (const std::string& node : step.nodes) {
      if (layers.contains(node)) own.push_back(node);
    }
    for (const std::string& layer : own) {
      times[layer] += step.median_ns / static_cast<double>(own.size());
    }
  }
  return times;
}

/// Stands in for a number of bits: half of the channels.
constexpr double kHalf = 0;

/// A model whose decisions of one kind all have the same value.
struct Alike {
  double bits = 0;  ///< of all layers, or kHalf
  Strategy strategy;
};

class TimeEstimates {
 public:
  TimeEstimates(const SearchProblem& problem, const Graph& graph)
      : problem_(problem), space_(graph), mask_(problem.MaskFunction()) {
    const std::vector<Decision>& decisions = problem.decisions();
    const Strategy without = Describe(Assignment(decisions.size(), 0));
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      layers_.emplace_back();
      const std::optional<std::int32_t> probe = ProbeOf(decisions[i]);
      if (!probe) continue;
      const Assignment alone = ChangeOneDecision(decisions, i, *probe);
      if (!IsLegal(mask_, alone)) continue;
      layers_.back() = LayersOf(space_, without, Describe(alone));
      all_.insert(layers_.back().begin(), layers_.back().end());
      if (decisions[i].quantity == envs::kDensity) bits_.insert(kHalf);
      if (decisions[i].quantity != envs::kBits) continue;
      bits_.insert(decisions[i].values.begin(), decisions[i].values.end());
    }
  }

  /// Adds time estimates; adds nothing if there is nothing to time, or if timing fails or is
  /// stopped. Returns whether the result is final, i.e. no other process ended a measurement.
  [[nodiscard]] bool Add(cost::LocalEvaluator& evaluator, const Stop& stop,
                         std::map<std::string, AdditiveCost>& costs) {
    constexpr std::int64_t kRuns = 20;
    std::vector<Alike> models;
    for (const double bits : bits_) {
      if (bits == kPlainBits) continue;
      if (auto model = Make(bits, evaluator, stop)) models.push_back(std::move(*model));
    }
    if (models.empty() || stop()) return !interrupted_;
    std::vector<Strategy> strategies;
    strategies.reserve(models.size());
    for (const Alike& model : models) strategies.push_back(model.strategy);
    const Result<std::vector<cost::Profile>> profiles =
        evaluator.ProfileSteps(strategies, kRuns, stop);
    interrupted_ =
        interrupted_ || (!profiles.ok() && profiles.failure().kind == FailureKind::kLost);
    if (!profiles.ok() || profiles.value().size() != models.size() + 1) return !interrupted_;
    double whole = 0;
    for (const cost::StepProfile& step : profiles.value()[0].steps) whole += step.median_ns;
    if (!(whole > 0)) return !interrupted_;
    f32_ = TimesOf(profiles.value()[0], all_);
    for (std::size_t k = 0; k < models.size(); ++k) {
      if (!profiles.value()[k + 1].failure) {
        alike_[models[k].bits] = TimesOf(profiles.value()[k + 1], all_);
      }
    }
    AdditiveCost ratio = Effects(whole);
    AdditiveCost ms = ratio;
    ms.offset = whole * 1e-6;
    for (std::vector<double>& effects : ms.effects) {
      for (double& effect : effects) effect *= ms.offset;
    }
    costs[std::string(envs::kLatency)] = std::move(ratio);
    costs[std::string(envs::kLatencyMs)] = std::move(ms);
    return !interrupted_;
  }

 private:
  [[nodiscard]] Strategy Describe(const Assignment& assignment) const {
    return StrategyFromJson(problem_.Describe(assignment), "a probe");
  }

  [[nodiscard]] std::optional<Alike> Make(double bits, cost::LocalEvaluator& evaluator,
                                          const Stop& stop) {
    const std::vector<Decision>& decisions = problem_.decisions();
    Assignment assignment(decisions.size(), 0);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const Decision& decision = decisions[i];
      if (decision.quantity == envs::kDensity && bits == kHalf) {
        assignment[i] = ProbeOf(decision).value_or(0);
      } else if (decision.quantity == envs::kBits) {
        const auto it = std::find(decision.values.begin(), decision.values.end(), bits);
        if (it == decision.values.end()) continue;
        assignment[i] = static_cast<std::int32_t>(it - decision.values.begin());
      }
    }
    Alike model{bits, Describe(MakeLegal(mask_, std::move(assignment)))};
    // Fitted weights do not change the time and are skipped; fitted scales are needed to run.
    if (bits == kHalf) model.strategy.fit = {};
    if (model.strategy.fit.samples.empty()) return model;
    const auto fitted = evaluator.Fit(model.strategy, stop);
    if (fitted && !fitted->ok() && fitted->failure().kind == FailureKind::kLost) {
      interrupted_ = true;
    }
    if (!fitted || !fitted->ok()) return std::nullopt;
    model.strategy = fitted->value();
    return model;
  }

  /// Returns the time of a layer in f32; 0 if no step computes it.
  [[nodiscard]] double Plain(const std::string& layer) const {
    const auto it = f32_.find(layer);
    return it == f32_.end() ? 0 : it->second;
  }

  /// Returns the time of a layer at `bits`; its f32 time if not measured.
  [[nodiscard]] double Time(double bits, const std::string& layer) const {
    const auto times = alike_.find(bits);
    if (times == alike_.end()) return Plain(layer);
    const auto it = times->second.find(layer);
    return it == times->second.end() ? Plain(layer) : it->second;
  }

  /// Returns effects as fractions of the uncompressed model's time. Savings by pruning are counted
  /// at the fastest precision, since a pruned layer rarely stays in f32.
  [[nodiscard]] AdditiveCost Effects(double whole) const {
    AdditiveCost cost{.offset = 1, .effects = {}};
    const std::vector<Decision>& decisions = problem_.decisions();
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const Decision& decision = decisions[i];
      std::vector<double>& effects = cost.effects.emplace_back(decision.choices.size(), 0.0);
      if (layers_[i].empty()) continue;
      const bool density = decision.quantity == envs::kDensity;
      const double probe = decision.values.at(static_cast<std::size_t>(*ProbeOf(decision)));
      for (std::size_t c = 1; c < effects.size(); ++c) {
        const double amount = decision.values[c];
        for (const std::string& layer : layers_[i]) {
          const double plain = Plain(layer);
          if (density) {
            const double saved = plain > 0 ? 1 - Time(kHalf, layer) / plain : 0;
            effects[c] -= saved * Quickest(layer) * (1 - amount) / (1 - probe) / whole;
          } else {
            effects[c] += (Time(amount, layer) - plain) / whole;
          }
        }
      }
    }
    return cost;
  }

  [[nodiscard]] double Quickest(const std::string& layer) const {
    double least = Plain(layer);
    for (const auto& [bits, times] : alike_) {
      if (bits != kHalf) least = std::min(least, Time(bits, layer));
    }
    return least;
  }

  const SearchProblem& problem_;
  PruneSpace space_;
  ChoiceMask mask_;
  std::vector<std::vector<std::string>> layers_;  ///< by decision
  std::set<std::string> all_;
  std::set<double> bits_;  ///< bits of precisions, and kHalf
  std::map<std::string, double> f32_;
  std::map<double, std::map<std::string, double>> alike_;  ///< by bits and layer
  bool interrupted_ = false;  ///< another process ended a measurement for good
};

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
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
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
        key_(measuring.KeyOf("estimates of " + problem.Hash() + " in " + std::to_string(seconds))),
        time_key_(measuring.KeyOf("a probe of " + problem.Hash())) {}

  [[nodiscard]] const std::string& key() const { return key_; }

  [[nodiscard]] std::optional<EstimateTable> Find() const {
    std::optional<EstimateTable> table = Recall<EstimateTable>(key_);
    if (!table && !from_.folder.empty()) table = TableOf(from_);
    return table && table->key == key_ ? table : std::nullopt;
  }
  void Keep(const EstimateTable& table) const { measuring_.Keep(key_, ToJsonText(table)); }

  /// Returns the seconds of a probe. The value is stored at once: if the search is interrupted
  /// after some probes were cached, which would then look fast, a resume still follows the same
  /// plan.
  [[nodiscard]] std::optional<double> ProbeSeconds(
      const std::function<std::optional<double>()>& measure) const {
    if (const auto kept = Recall<ProbeTime>(time_key_)) return kept->seconds;
    const std::optional<double> seconds = measure();
    if (seconds) measuring_.Keep(time_key_, ToJsonText(ProbeTime{*seconds}));
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
  std::string time_key_;
};

/// Context of a search before its first trial.
struct Work {
  const SearchHost& host;
  const RunPaths& paths;
  const SearchProblem& problem;
  Measuring& measuring;
  const Say& say;
  const Stop& stop;
  const TimeBudget& time;
  double end = std::numeric_limits<double>::infinity();  ///< time used at which all of it must end

  [[nodiscard]] bool IsLate() const { return time.Used() >= end; }
};

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
  const Stop stop = [&] { return work.stop() || work.IsLate(); };
  cost::Evaluator& evaluator = work.measuring.evaluator();
  const std::optional<std::int64_t> bytes = BytesOf(work.problem, evaluator, stop);
  const std::optional<double> each =
      shared.ProbeSeconds([&] { return TimeProbe(work.problem, evaluator, stop); });
  MeasuredTable measured{
      .table = {.problem_hash = work.problem.Hash(), .key = shared.key(), .costs = {}}};
  EstimateTable& table = measured.table;
  if (each) {
    const std::size_t planned = PlannedProbes(CountProbes(work.problem), seconds, *each);
    const double most =
        std::max(kPatience * seconds, kPatiencePlanned * *each * static_cast<double>(planned));
    const ProbeRun run =
        ProbeQuality(work.problem, evaluator, {.probes = planned, .seconds = most}, work.say, stop);
    table.planned = static_cast<std::int64_t>(planned);
    table.tried = std::ssize(run.result);
    AddQuality(work.problem.decisions(), run, bytes, table.costs);
    measured.whole = bytes && std::none_of(run.result.begin(), run.result.end(),
                                           [](const auto& of) { return WasLost(of.second); });
  }
  if (work.stop()) return std::nullopt;
  work.say("[steps] timing whole models with all layers in one precision");
  cost::LocalEvaluator local(LocalFor(work.host.program, work.paths.folder));
  if (!TimeEstimates(work.problem, graph).Add(local, stop, table.costs)) {
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
                      const TimeBudget& time, const SearchProblem& problem, Measuring& measuring,
                      const Say& say, const Stop& stop, Prepared& prepared) {
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
