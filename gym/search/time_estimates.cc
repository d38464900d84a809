#include "gym/search/time_estimates.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "compiler/compress/prune/prune.h"
#include "compiler/strategy/strategy.h"
#include "envs/common/evaluation.h"
#include "envs/common/quantity.h"
#include "gym/search/probes.h"

namespace msc::gym {
namespace {

using Stop = std::function<bool()>;

constexpr double kPlainBits = 32;

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

/// What there is to time: the layers that each decision changes, and the values that all decisions
/// of a kind may have, bits or kHalfOfTheChannels.
struct Timed {
  std::vector<std::vector<std::string>> layers;  ///< by decision
  std::set<double> values;
};

Timed FindTimed(const envs::StrategyProblem& problem, const Graph& graph) {
  const std::vector<Decision>& decisions = problem.decisions();
  const PruneSpace space(graph);
  const ChoiceMask mask = problem.MaskFunction();
  const Strategy without = problem.StrategyOf(Assignment(decisions.size(), 0));
  Timed timed;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    std::vector<std::string>& layers = timed.layers.emplace_back();
    const std::optional<std::int32_t> probe = ProbeOf(decisions[i]);
    if (!probe) continue;
    const Assignment alone = ChangeOneDecision(decisions, i, *probe);
    if (!IsLegal(mask, alone)) continue;
    layers = LayersOf(space, without, problem.StrategyOf(alone));
    if (decisions[i].quantity == envs::kDensity) timed.values.insert(kHalfOfTheChannels);
    if (decisions[i].quantity != envs::kBits) continue;
    timed.values.insert(decisions[i].values.begin(), decisions[i].values.end());
  }
  timed.values.erase(kPlainBits);
  return timed;
}

/// Returns the assignment with `value` for all decisions of its kind that have it.
Assignment UniformAssignment(const SearchProblem& problem, double value) {
  const std::vector<Decision>& decisions = problem.decisions();
  Assignment assignment(decisions.size(), 0);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision& decision = decisions[i];
    if (decision.quantity == envs::kDensity && value == kHalfOfTheChannels) {
      assignment[i] = ProbeOf(decision).value_or(0);
    } else if (decision.quantity == envs::kBits) {
      const auto it = std::find(decision.values.begin(), decision.values.end(), value);
      if (it == decision.values.end()) continue;
      assignment[i] = static_cast<std::int32_t>(it - decision.values.begin());
    }
  }
  // Rules between decisions may forbid the same value for all.
  return MakeLegal(problem.MaskFunction(), std::move(assignment));
}

bool WasLost(const Failure& failure) {
  return failure.kind == FailureKind::kLost;
}

/// Returns a uniform model that can be timed; nothing if its fit fails. Sets `lost` if another
/// process ended the fit.
std::optional<Strategy> UniformModel(const envs::StrategyProblem& problem, double value,
                                     cost::LocalEvaluator& evaluator, const Stop& stop,
                                     bool& lost) {
  Strategy model = WithoutRounding(problem.StrategyOf(UniformAssignment(problem, value)));
  // Fitted weights do not change the time and are skipped; fitted scales are needed to run.
  if (value == kHalfOfTheChannels) model.fit = {};
  if (model.fit.samples.empty()) return model;
  auto fitted = evaluator.Fit(model, stop);
  lost = lost || (fitted && !fitted->ok() && WasLost(fitted->failure()));
  if (!fitted || !fitted->ok()) return std::nullopt;
  return std::move(*fitted).value();
}

/// Returns the times of the models with `values`; nothing if timing fails.
std::optional<UniformTimes> TimeModels(const std::vector<double>& values,
                                       const std::vector<Strategy>& models,
                                       const std::set<std::string>& layers,
                                       cost::LocalEvaluator& evaluator, const Stop& stop,
                                       bool& lost) {
  constexpr std::int64_t kRuns = 20;
  const Result<std::vector<cost::Profile>> profiles = evaluator.ProfileSteps(models, kRuns, stop);
  lost = lost || (!profiles.ok() && WasLost(profiles.failure()));
  // The first profile is that of the uncompressed model.
  if (!profiles.ok() || profiles.value().size() != models.size() + 1) return std::nullopt;
  UniformTimes times;
  for (const cost::StepProfile& step : profiles.value()[0].steps) times.whole += step.median_ns;
  if (!(times.whole > 0)) return std::nullopt;
  times.f32 = TimesByLayer(profiles.value()[0], layers);
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (profiles.value()[i + 1].failure) continue;
    times.uniform[values[i]] = TimesByLayer(profiles.value()[i + 1], layers);
  }
  return times;
}

/// Returns the time of a layer in f32; 0 if no step computes it.
double PlainTime(const UniformTimes& times, const std::string& layer) {
  const auto it = times.f32.find(layer);
  return it == times.f32.end() ? 0 : it->second;
}

double TimeAt(const UniformTimes& times, double value, const std::string& layer) {
  const auto uniform = times.uniform.find(value);
  if (uniform == times.uniform.end()) return PlainTime(times, layer);
  const auto it = uniform->second.find(layer);
  return it == uniform->second.end() ? PlainTime(times, layer) : it->second;
}

double FastestTime(const UniformTimes& times, const std::string& layer) {
  double least = PlainTime(times, layer);
  for (const auto& [value, of_layers] : times.uniform) {
    if (value != kHalfOfTheChannels) least = std::min(least, TimeAt(times, value, layer));
  }
  return least;
}

}  // namespace

LayerTimes TimesByLayer(const cost::Profile& profile, const std::set<std::string>& layers) {
  LayerTimes times;
  std::string last;   // the layer of the step before
  double before = 0;  // of steps before the first layer
  for (const cost::StepProfile& step : profile.steps) {
    std::vector<std::string> own;
    for (const std::string& node : step.nodes) {
      if (layers.contains(node)) own.push_back(node);
    }
    if (own.empty() && last.empty()) before += step.median_ns;
    if (own.empty() && !last.empty()) times[last] += step.median_ns;
    if (own.empty()) continue;
    // A profile times steps, so it does not tell how fused layers share one.
    for (const std::string& layer : own) {
      times[layer] += (step.median_ns + before) / static_cast<double>(own.size());
    }
    before = 0;
    last = own.back();
  }
  return times;
}

AdditiveCost TimeEffects(const std::vector<Decision>& decisions,
                         const std::vector<std::vector<std::string>>& layers,
                         const UniformTimes& times) {
  AdditiveCost cost{.offset = 1};
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision& decision = decisions[i];
    std::vector<double>& effects = cost.effects.emplace_back(decision.choices.size(), 0.0);
    if (layers[i].empty()) continue;
    const bool density = decision.quantity == envs::kDensity;
    const double probe = decision.values.at(static_cast<std::size_t>(*ProbeOf(decision)));
    for (std::size_t c = 1; c < effects.size(); ++c) {
      const double amount = decision.values[c];
      for (const std::string& layer : layers[i]) {
        const double plain = PlainTime(times, layer);
        if (density) {
          const double saved = plain > 0 ? 1 - TimeAt(times, kHalfOfTheChannels, layer) / plain : 0;
          effects[c] -=
              saved * FastestTime(times, layer) * (1 - amount) / (1 - probe) / times.whole;
        } else {
          effects[c] += (TimeAt(times, amount, layer) - plain) / times.whole;
        }
      }
    }
  }
  return cost;
}

bool AddTimeEstimates(const envs::StrategyProblem& problem, const Graph& graph,
                      cost::LocalEvaluator& evaluator, const Stop& stop,
                      std::map<std::string, AdditiveCost>& costs) {
  const Timed timed = FindTimed(problem, graph);
  bool lost = false;
  std::vector<double> values;
  std::vector<Strategy> models;
  for (const double value : timed.values) {
    auto model = UniformModel(problem, value, evaluator, stop, lost);
    if (!model) continue;
    values.push_back(value);
    models.push_back(*std::move(model));
  }
  if (models.empty() || stop()) return !lost;
  std::set<std::string> layers;
  for (const auto& of_decision : timed.layers) {
    layers.insert(of_decision.begin(), of_decision.end());
  }
  const auto times = TimeModels(values, models, layers, evaluator, stop, lost);
  if (!times) return !lost;
  AdditiveCost ratio = TimeEffects(problem.decisions(), timed.layers, *times);
  // latency is a ratio to the uncompressed model; latency_ms is the same in milliseconds.
  AdditiveCost ms = ratio;
  ms.offset = times->whole * 1e-6;
  for (std::vector<double>& effects : ms.effects) {
    for (double& effect : effects) effect *= ms.offset;
  }
  costs[std::string(envs::kLatency)] = std::move(ratio);
  costs[std::string(envs::kLatencyMs)] = std::move(ms);
  return !lost;
}

}  // namespace msc::gym
