#include "gym/app/keep_float.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "compiler/base/duration_text.h"
#include "compiler/pipeline/fitted.h"
#include "gym/console/progress_line.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

/// Samples that rank layers.
constexpr std::int64_t kRoughSamples = 16;
/// Share of the guard's bounds that may be used: other samples lose more than those of the
/// calibration.
constexpr double kShare = 0.75;
/// CPU time of this process, so that a busy machine does not change the result.
constexpr double kMostRankingSeconds = 45;  ///< a thread

double CpuSeconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

/// Returns the fitted weights of one strategy, but for layers in `kept` those of another one.
FittedWeights MixedWeights(const Strategy& fitted, const Strategy& plain,
                           const std::set<std::string>& kept) {
  FittedWeights mixed;
  const auto add = [&](const Strategy& strategy, bool of_kept) {
    if (!strategy.fit.values) return;
    for (const FittedWeight& weight : strategy.fit.values->weights) {
      if (kept.contains(weight.node) == of_kept) mixed.weights.push_back(weight);
    }
  };
  add(fitted, false);
  add(plain, true);
  return mixed;
}

/// Returns the chosen strategy with layers in f32, whose weights are not rounded.
Strategy Without(const KeepFloatInput& input, const std::set<std::string>& kept) {
  Strategy strategy = *input.chosen;
  for (const std::string& layer : kept) {
    strategy.quantize.layers[layer] = Precision::kF32;
    strategy.quantize.weights.erase(layer);
  }
  if (strategy.fit == input.plain->fit) return strategy;
  FittedWeights weights = MixedWeights(*input.chosen, *input.plain, kept);
  strategy.fit = input.plain->fit;
  if (!weights.weights.empty()) SetFitted(std::move(weights), strategy);
  return strategy;
}

std::set<std::string> Joined(std::set<std::string> names, const std::set<std::string>& others) {
  names.insert(others.begin(), others.end());
  return names;
}

/// Returns the largest loss relative to the share of its bound that may be used.
double LossOf(const cost::Guard& guard, const Judged& judged) {
  if (!judged.failure.empty()) return std::numeric_limits<double>::infinity();
  return cost::LargestShare(judged.quality, guard) / kShare;
}

/// Judges models with some of the layers in f32, each once.
class Judging {
 public:
  explicit Judging(const KeepFloatInput& input) : input_(input) {}
  const Judged& With(const std::set<std::string>& layers) {
    const auto known = judged_.find(layers);
    if (known != judged_.end()) return known->second;
    return judged_[layers] = input_.judge->Judge(Without(input_, layers));
  }
  double Loss(const std::set<std::string>& layers) { return LossOf(input_.guard, With(layers)); }

 private:
  const KeepFloatInput& input_;
  std::map<std::set<std::string>, Judged> judged_;
};

/// Chooses more layers than the ends in `kept` until the guard's losses are small enough.
FloatLayers KeepMore(const KeepFloatInput& input, const KeptFloat& kept, Judging& judging) {
  const CalibrationJudge rough = input.judge->WithSamples(kRoughSamples);
  FloatLayersTask task;
  for (const auto& [layer, precision] : input.chosen->quantize.layers) {
    if (precision != Precision::kF32 && !kept.ends.contains(layer)) task.layers.push_back(layer);
  }
  task.loss = [&](const std::set<std::string>& layers) {
    return judging.Loss(Joined(layers, kept.ends));
  };
  // Whether decisions of a few samples change is chance; the fine loss says more.
  task.rough_loss = [&](const std::set<std::string>& layers) {
    return FineLoss(rough.Judge(Without(input, Joined(layers, kept.ends))));
  };
  task.work = input.ends.work;
  task.most_work = input.most_work;
  ProgressLine line;
  const auto began = Clock::now();
  const double cpu_began = CpuSeconds();
  task.progress = [&](std::size_t done, std::size_t most) {
    const std::chrono::duration<double> spent = Clock::now() - began;
    std::string text = "[keep f32] " + std::to_string(done) + "/" + std::to_string(most);
    if (done > 0) {
      text += ", " +
              FormatDuration(spent * static_cast<double>(most - done) / static_cast<double>(done)) +
              " left";
    }
    line.Show(text);
    return CpuSeconds() - cpu_began < kMostRankingSeconds * input.threads;
  };
  return ChooseFloatLayers(task);
}

/// Returns "a, b, c, 5 more".
std::string NamesText(const std::vector<std::string>& all) {
  constexpr std::size_t kNamed = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(all.size(), kNamed); ++i) {
    names += (names.empty() ? "" : ", ") + all[i];
  }
  if (all.size() > kNamed) names += ", " + std::to_string(all.size() - kNamed) + " more";
  return names;
}

std::string LossesText(const Judged& judged, std::int64_t samples) {
  if (!judged.failure.empty()) return "the model failed: " + judged.failure;
  return std::to_string(samples) + " calibration samples had " + QualityText(judged.quality);
}

}  // namespace

std::set<std::string> KeptFloat::Names() const {
  std::set<std::string> names = ends;
  for (const FloatLayer& layer : layers.kept) names.insert(layer.name);
  return names;
}

KeptFloat KeepFloat(const KeepFloatInput& input) {
  Judging judging(input);
  KeptFloat kept{.quantizable = input.chosen->quantize.layers.size(),
                 .before = judging.With({}),
                 .samples = input.judge->samples()};
  kept.ends = ChooseFloatEnds(input.ends, [&](const std::set<std::string>& layers) {
    return FineLoss(judging.With(layers));
  });
  kept.with_ends = kept.ends.empty() ? kept.before : judging.With(kept.ends);
  kept.layers.loss_before = kept.layers.loss_after = judging.Loss(kept.ends);
  if (kept.layers.loss_before > 1) kept.layers = KeepMore(input, kept, judging);
  for (const std::string& layer : kept.Names()) {
    const auto work = input.ends.work.find(layer);
    if (work != input.ends.work.end()) kept.work += work->second;
  }
  return kept;
}

std::vector<std::string> KeptLines(const KeptFloat& kept) {
  std::vector<std::string> lines;
  const std::string of_all = " of " + std::to_string(kept.quantizable) + " layers stay in f32 (";
  if (!kept.ends.empty()) {
    lines.push_back(std::to_string(kept.ends.size()) + of_all +
                    NamesText({kept.ends.begin(), kept.ends.end()}) +
                    "), since they begin or end the model and do little of its work: " +
                    LossesText(kept.with_ends, kept.samples) + ", but with all layers quantized " +
                    LossesText(kept.before, kept.samples));
  }
  if (kept.layers.kept.empty()) return lines;
  std::vector<std::string> names;
  for (const FloatLayer& layer : kept.layers.kept) names.push_back(layer.name);
  lines.push_back(std::to_string(names.size()) + of_all + NamesText(names) + "): with " +
                  (kept.ends.empty() ? "all of them" : "these, too,") + " quantized, " +
                  LossesText(kept.with_ends, kept.samples));
  if (!kept.layers.suffices) {
    lines.emplace_back(
        "more than half of the work would have to stay in f32 for losses that are not suspicious; "
        "--keep-f32 enough keeps as much, --keep-f32 none quantizes all");
  }
  return lines;
}

}  // namespace msc::gym
