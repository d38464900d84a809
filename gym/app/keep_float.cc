#include "gym/app/keep_float.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/base/duration_text.h"
#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "gym/console/progress_line.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

/// Samples that decide, and that rank layers.
constexpr std::int64_t kSamples = 128;
constexpr std::int64_t kRoughSamples = 16;
/// Share of the guard's bounds that may be used: other samples lose more than those of the
/// calibration.
constexpr double kShare = 0.5;
constexpr std::chrono::seconds kMostRanking{60};

/// The first samples of a source, which must outlive it.
class FirstSamples final : public SampleSource {
 public:
  FirstSamples(const SampleSource& source, std::int64_t count) : source_(source), count_(count) {}
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return source_.inputs(); }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override {
    return source_.Read(first, count);
  }
  [[nodiscard]] std::int64_t GroupEnd(std::int64_t first) const override {
    return std::min(source_.GroupEnd(first), count_);
  }

 private:
  const SampleSource& source_;
  std::int64_t count_;
};

TestJudge MakeJudge(const KeepFloatInput& input, std::int64_t most) {
  const std::int64_t count =
      std::min(input.samples->count(), std::max(most, FixedBatch(*input.graph).value_or(1)));
  return {{.source = std::make_shared<FirstSamples>(*input.samples, count)},
          *input.graph,
          input.run,
          *input.targets,
          {.outputs = input.outputs, .metrics = {}, .guard = input.guard}};
}

Strategy Without(const Strategy& all, const std::set<std::string>& kept) {
  Strategy strategy = all;
  for (const std::string& layer : kept) {
    strategy.quantize.layers[layer] = Precision::kF32;
    strategy.quantize.weights.erase(layer);
  }
  return strategy;
}

Judged JudgeStrategy(const KeepFloatInput& input, const TestJudge& judge,
                     const Strategy& strategy) {
  try {
    return judge.Look(ApplyStrategy(*input.graph, strategy)).judged;
  } catch (const UserError& error) {  // such as a target without a kernel for this mix
    return {.failure = error.what()};
  }
}

/// Returns the largest loss relative to the share of its bound that may be used.
double LossOf(const KeepFloatInput& input, const Judged& judged) {
  if (!judged.failure.empty()) return std::numeric_limits<double>::infinity();
  return cost::LargestShare(judged.quality, input.guard) / kShare;
}

}  // namespace

KeptFloat KeepFloat(const KeepFloatInput& input) {
  const TestJudge judge = MakeJudge(input, kSamples);
  KeptFloat kept{.quantizable = input.chosen->quantize.layers.size(),
                 .before = JudgeStrategy(input, judge, *input.chosen),
                 .samples = judge.samples()};
  const double chosen = LossOf(input, kept.before);
  kept.layers.loss_before = kept.layers.loss_after = chosen;
  if (chosen <= 1) return kept;
  const auto loss_of = [&](const TestJudge& by, const std::set<std::string>& layers) {
    return LossOf(input, JudgeStrategy(input, by, Without(*input.plain, layers)));
  };
  // The chosen rounding loses less than the nearest one, by about the same factor whichever layers
  // are quantized.
  const double plain = loss_of(judge, {});
  const double factor = std::isfinite(plain) && plain > 0 ? std::min(chosen / plain, 1.0) : 1.0;
  const TestJudge rough = MakeJudge(input, kRoughSamples);
  FloatLayersTask task;
  for (const auto& [layer, precision] : input.plain->quantize.layers) {
    if (precision != Precision::kF32) task.layers.push_back(layer);
  }
  task.loss = [&](const std::set<std::string>& layers) {
    return layers.empty() ? chosen : factor * loss_of(judge, layers);
  };
  task.rough_loss = [&](const std::set<std::string>& layers) { return loss_of(rough, layers); };
  ProgressLine line;
  const auto began = Clock::now();
  task.progress = [&](std::size_t done, std::size_t most) {
    const std::chrono::duration<double> spent = Clock::now() - began;
    std::string text = "[keep f32] " + std::to_string(done) + "/" + std::to_string(most);
    if (done > 0) {
      text += ", " +
              FormatDuration(spent * static_cast<double>(most - done) / static_cast<double>(done)) +
              " left";
    }
    line.Show(text);
    return spent < kMostRanking;
  };
  kept.layers = ChooseFloatLayers(task);
  return kept;
}

std::string KeptText(const KeptFloat& kept) {
  const std::vector<FloatLayer>& layers = kept.layers.kept;
  if (layers.empty()) return "";
  constexpr std::size_t kNamed = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(layers.size(), kNamed); ++i) {
    names += (names.empty() ? "" : ", ") + layers[i].name;
  }
  if (layers.size() > kNamed) names += ", " + std::to_string(layers.size() - kNamed) + " more";
  return std::to_string(layers.size()) + " of " + std::to_string(kept.quantizable) +
         " layers stay in f32 (" + names + "): with all of them quantized, " +
         (kept.before.failure.empty() ? std::to_string(kept.samples) + " calibration samples had " +
                                            QualityText(kept.before.quality)
                                      : "the model failed: " + kept.before.failure);
}

}  // namespace msc::gym
