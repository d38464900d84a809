#include "gym/search/time_estimates.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
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

/// What there is to time: the layers that each decision changes, and the values that decisions may
/// have besides those of the uncompressed model.
struct Timed {
  std::vector<std::vector<std::string>> layers;  ///< by decision
  std::set<double> bits;
  std::set<double> densities;
};

Timed FindTimed(const envs::StrategyProblem& problem, const Graph& graph) {
  const std::vector<Decision>& decisions = problem.decisions();
  const PruneSpace space(graph);
  const ChoiceMask mask = problem.MaskFunction();
  const Strategy without = problem.StrategyOf(Assignment(decisions.size(), 0));
  Timed timed;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision& decision = decisions[i];
    std::vector<std::string>& layers = timed.layers.emplace_back();
    const std::optional<std::int32_t> probe = ProbeOf(decision);
    if (!probe) continue;
    const Assignment alone = ChangeOneDecision(decisions, i, *probe);
    if (!IsLegal(mask, alone)) continue;
    layers = LayersOf(space, without, problem.StrategyOf(alone));
    auto& values = decision.quantity == envs::kDensity ? timed.densities : timed.bits;
    values.insert(decision.values.begin(), decision.values.end());
  }
  timed.bits.erase(kPlainBits);
  timed.densities.erase(1);
  return timed;
}

/// Returns the choice of a decision that is nearest to `value`.
std::int32_t Nearest(const Decision& decision, double value) {
  const auto nearest = std::ranges::min_element(
      decision.values, {}, [value](double each) { return std::abs(each - value); });
  return static_cast<std::int32_t>(nearest - decision.values.begin());
}

/// Returns the assignment with these bits for all layers that have such a choice.
Assignment WithBits(const SearchProblem& problem, double bits) {
  const std::vector<Decision>& decisions = problem.decisions();
  Assignment assignment(decisions.size(), 0);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i].quantity != envs::kBits) continue;
    const auto it = std::ranges::find(decisions[i].values, bits);
    if (it == decisions[i].values.end()) continue;
    assignment[i] = static_cast<std::int32_t>(it - decisions[i].values.begin());
  }
  // Rules between decisions may forbid the same value for all.
  return MakeLegal(problem.MaskFunction(), std::move(assignment));
}

/// Returns the assignment with about this density for all groups.
Assignment WithDensity(const SearchProblem& problem, double density) {
  const std::vector<Decision>& decisions = problem.decisions();
  Assignment assignment(decisions.size(), 0);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i].quantity != envs::kDensity || !ProbeOf(decisions[i])) continue;
    assignment[i] = Nearest(decisions[i], density);
  }
  return MakeLegal(problem.MaskFunction(), std::move(assignment));
}

/// A model to time, and the value that all its decisions of a kind have.
struct TimedModel {
  double value = 0;
  Strategy strategy;
};

/// Times models and keeps the first failure that another process caused.
class ModelTimer {
 public:
  ModelTimer(const envs::StrategyProblem& problem, std::set<std::string> layers,
             cost::LocalEvaluator& evaluator, const Stop& stop)
      : problem_(problem), layers_(std::move(layers)), evaluator_(evaluator), stop_(stop) {}

  /// Returns a model that can be timed; nothing if its fit fails.
  [[nodiscard]] std::optional<TimedModel> Quantized(double bits) {
    Strategy model = WithoutRounding(problem_.StrategyOf(WithBits(problem_, bits)));
    if (model.fit.samples.empty()) return TimedModel{bits, std::move(model)};
    auto fitted = evaluator_.Fit(model, stop_);
    if (!fitted) return std::nullopt;
    if (!fitted->ok()) {
      Note(fitted->failure());
      return std::nullopt;
    }
    return TimedModel{bits, std::move(*fitted).value()};
  }
  /// Returns the model of that precision with about this density for all groups. Fitted weights do
  /// not change the time and are skipped, and scales are those of the model with all channels.
  [[nodiscard]] TimedModel Pruned(double density, const Strategy& quantized) const {
    TimedModel model{density, quantized};
    model.strategy.prune = problem_.StrategyOf(WithDensity(problem_, density)).prune;
    model.strategy.fit = {};
    model.strategy.quantize.rounding.clear();
    // By channel, of which there are fewer now.
    for (auto& [layer, grid] : model.strategy.quantize.weights) {
      grid.scales.clear();
      grid.zero_points.clear();
    }
    return model;
  }
  /// Returns whether the models were timed: adds the times of their layers to `times`, and those of
  /// the uncompressed model unless it has these. Later times are scaled by that model's.
  bool Time(const std::vector<TimedModel>& models, UniformTimes& times,
            std::map<double, LayerTimes>& by_value) {
    constexpr std::int64_t kRuns = 20;
    std::vector<Strategy> strategies;
    strategies.reserve(models.size());
    for (const TimedModel& model : models) strategies.push_back(model.strategy);
    const Result<std::vector<cost::Profile>> result =
        evaluator_.ProfileSteps(strategies, kRuns, stop_);
    if (!result.ok()) Note(result.failure());
    // The first profile is that of the uncompressed model.
    if (!result.ok() || result.value().size() != models.size() + 1) return false;
    const std::vector<cost::Profile>& profiles = result.value();
    double whole = 0;
    for (const cost::StepProfile& step : profiles[0].steps) whole += step.median_ns;
    if (!(whole > 0)) return false;
    if (!(times.whole > 0)) {
      times.whole = whole;
      times.f32 = TimesByLayer(profiles[0], layers_);
    }
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (profiles[i + 1].failure) continue;
      LayerTimes of_layers = TimesByLayer(profiles[i + 1], layers_);
      for (auto& [layer, ns] : of_layers) ns *= times.whole / whole;
      by_value[models[i].value] = std::move(of_layers);
    }
    return true;
  }
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  void Note(const Failure& failure) { lost_ = lost_ || failure.kind == FailureKind::kLost; }

  const envs::StrategyProblem& problem_;
  std::set<std::string> layers_;
  cost::LocalEvaluator& evaluator_;
  const Stop& stop_;
  bool lost_ = false;
};

double SumOf(const LayerTimes& times) {
  double sum = 0;
  for (const auto& [layer, ns] : times) sum += ns;
  return sum;
}

/// Returns the times of the layers with these bits.
const LayerTimes& AtBits(const UniformTimes& times, double bits) {
  const auto it = times.by_bits.find(bits);
  return it == times.by_bits.end() ? times.f32 : it->second;
}

/// Returns the bits of the fastest model.
double FastestBits(const UniformTimes& times) {
  double fastest = kPlainBits;
  for (const auto& [bits, of_layers] : times.by_bits) {
    if (SumOf(of_layers) < SumOf(AtBits(times, fastest))) fastest = bits;
  }
  return fastest;
}

/// Returns the densities to time after the first: by their distance from it, the nearest last, so
/// that what is left out lies between others.
std::vector<double> InOrder(const std::set<double>& densities, double first) {
  std::vector<double> order(densities.begin(), densities.end());
  std::erase(order, first);
  std::ranges::sort(order, std::ranges::greater(),
                    [first](double density) { return std::abs(density - first); });
  return order;
}

/// Times pruned models in the fastest precision: about half of the channels, then as many others as
/// take about `seconds`.
void TimeDensities(ModelTimer& timer, const std::vector<TimedModel>& quantized,
                   const std::set<double>& densities, double seconds, const Stop& stop,
                   UniformTimes& times) {
  constexpr double kHalf = 0.5;
  if (densities.empty()) return;
  times.pruned_bits = FastestBits(times);
  const auto of_bits = std::ranges::find(quantized, times.pruned_bits, &TimedModel::value);
  const Strategy base = of_bits == quantized.end() ? Strategy() : of_bits->strategy;
  const double first = *std::ranges::min_element(
      densities, {}, [](double density) { return std::abs(density - kHalf); });
  const auto began = std::chrono::steady_clock::now();
  if (!timer.Time({timer.Pruned(first, base)}, times, times.by_density)) return;
  const std::chrono::duration<double> one = std::chrono::steady_clock::now() - began;
  std::vector<TimedModel> models;
  for (const double density : InOrder(densities, first)) {
    if (static_cast<double>(models.size() + 1) * one.count() > seconds) break;
    models.push_back(timer.Pruned(density, base));
  }
  if (!models.empty() && !stop()) {
    // Without these, the first one is what others follow from.
    static_cast<void>(timer.Time(models, times, times.by_density));
  }
}

double TimeOf(const LayerTimes& times, const std::string& layer, double otherwise) {
  const auto it = times.find(layer);
  return it == times.end() ? otherwise : it->second;
}

/// Returns the time that a layer takes at a density of all groups, by linear interpolation between
/// the timed ones or, below the least, along the line to it from all channels.
double TimeAtDensity(const UniformTimes& times, const std::string& layer, double density) {
  const double whole = TimeOf(AtBits(times, times.pruned_bits), layer, TimeOf(times.f32, layer, 0));
  const auto time_at = [&](auto it) {
    return it == times.by_density.end() ? whole : TimeOf(it->second, layer, whole);
  };
  if (times.by_density.empty()) return whole;
  const auto above = times.by_density.lower_bound(density);
  if (above == times.by_density.begin() && above->first > density) {
    const double slope = (whole - time_at(above)) / (1 - above->first);
    return std::max(0.0, whole - slope * (1 - density));
  }
  const double high = above == times.by_density.end() ? 1 : above->first;
  if (high == density) return time_at(above);
  const auto below = std::prev(above);
  const double share = (density - below->first) / (high - below->first);
  return time_at(below) + share * (time_at(above) - time_at(below));
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
    for (std::size_t c = 1; c < effects.size(); ++c) {
      const double amount = decision.values[c];
      for (const std::string& layer : layers[i]) {
        const double plain = TimeOf(times.f32, layer, 0);
        const double change =
            density ? TimeAtDensity(times, layer, amount) - TimeAtDensity(times, layer, 1)
                    : TimeOf(AtBits(times, amount), layer, plain) - plain;
        effects[c] += change / times.whole;
      }
    }
  }
  return cost;
}

bool AddTimeEstimates(const envs::StrategyProblem& problem, const Graph& graph,
                      cost::LocalEvaluator& evaluator, double seconds, const Stop& stop,
                      std::map<std::string, AdditiveCost>& costs) {
  const Timed timed = FindTimed(problem, graph);
  std::set<std::string> layers;
  for (const auto& of_decision : timed.layers) {
    layers.insert(of_decision.begin(), of_decision.end());
  }
  ModelTimer timer(problem, std::move(layers), evaluator, stop);
  std::vector<TimedModel> quantized;
  for (const double bits : timed.bits) {
    if (auto model = timer.Quantized(bits)) quantized.push_back(*std::move(model));
  }
  if (stop() || (quantized.empty() && timed.densities.empty())) return !timer.lost();
  UniformTimes times;
  if (!quantized.empty() && !timer.Time(quantized, times, times.by_bits)) return !timer.lost();
  TimeDensities(timer, quantized, timed.densities, seconds, stop, times);
  if (!(times.whole > 0)) return !timer.lost();
  AdditiveCost ratio = TimeEffects(problem.decisions(), timed.layers, times);
  // latency is a ratio to the uncompressed model; latency_ms is the same in milliseconds.
  AdditiveCost ms = ratio;
  ms.offset = times.whole * 1e-6;
  for (std::vector<double>& effects : ms.effects) {
    for (double& effect : effects) effect *= ms.offset;
  }
  costs[std::string(envs::kLatency)] = std::move(ratio);
  costs[std::string(envs::kLatencyMs)] = std::move(ms);
  return !timer.lost();
}

}  // namespace msc::gym
