#include "gym/app/quantize_defaults.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/sample_axes.h"
#include "compiler/pipeline/batch.h"
#include "gym/app/calibration_judge.h"
#include "gym/app/float_ends.h"
#include "gym/console/progress_line.h"

namespace msc::gym {
namespace {

/// Most calibration samples that decide what the options leave open.
constexpr std::int64_t kJudgedSamples = 128;

/// Decides step by step, each step with what was decided before it.
class Deciding {
 public:
  Deciding(const QuantizeInput& input, QuantizeOptions& options, Decided& decided)
      : input_(input),
        options_(options),
        decided_(decided),
        progress_([this](const std::string& what, double share) {
          line_.Show("[" + what + "] " + std::to_string(static_cast<int>(100 * share)) + " %");
        }),
        quantizer_(input.graph, input.base, input.samples, options, input.run, input.targets,
                   progress_) {}

  QuantizedModel Quantize() { return quantizer_.Quantize(options_, progress_); }

  QuantizedModel Decide(const LeftOpen& open) {
    judge_.emplace(CalibrationJudgeInput{.graph = &input_.graph,
                                         .samples = &input_.samples,
                                         .run = input_.run,
                                         .targets = &input_.targets,
                                         .outputs = input_.judged.outputs},
                   kJudgedSamples);
    if (open.ranges) ChooseRangesOf();
    if (open.rounding) ChooseRoundingOf();
    if (!model_) model_ = Quantize();
    if (open.keep_float != KeepFloatMode::kNone && KeepsFloat(open.keep_float)) {
      if (open.ranges) ChooseRangesOf();
      model_ = Quantize();
    }
    return std::move(*model_);
  }

 private:
  void ChooseRangesOf() {
    QuantizeOptions nearest = WithNearestRounding(options_);
    decided_.ranges = ChooseRanges(
        [&](const std::string& method) {
          line_.Show("[choose ranges] " + method);
          nearest.scales.method = method;
          return judge_->Judge(quantizer_.Plan(nearest));
        },
        judge_->samples());
    options_.scales.method = decided_.ranges->method;
  }

  void ChooseRoundingOf() {
    QuantizedModel nearest = Quantize();
    // The fitted models, in the order of trial.
    std::vector<QuantizedModel> fitted;
    const auto with = [&](const TriedRounding& tried) {
      QuantizeOptions options = options_;
      options.rounding = tried.rounding;
      options.correct_bias = tried.correct_bias;
      return options;
    };
    decided_.rounding = ChooseRounding(
        judge_->Judge(nearest.strategy),
        [&](const TriedRounding& tried) {
          fitted.push_back(quantizer_.Quantize(with(tried), progress_));
          return judge_->Judge(fitted.back().strategy);
        },
        FitFlops(), input_.judged.guard, judge_->samples());
    const std::size_t chosen = decided_.rounding->chosen;
    options_ = with(decided_.rounding->best());
    model_ = chosen == 0 ? std::move(nearest) : std::move(fitted[chosen - 1]);
  }

  [[nodiscard]] BothEnds Ends() const {
    const std::int64_t batch = BatchSize(input_.graph, 1);
    return FindEnds(input_.graph,
                    InputsOfRows(LayoutOf(input_.graph), input_.samples.Read(0, batch)));
  }

  /// Returns about how many operations it takes to fit all layers: half the model for each.
  [[nodiscard]] double FitFlops() const {
    const BothEnds ends = Ends();
    const double calls = static_cast<double>(input_.samples.count()) /
                         static_cast<double>(BatchSize(input_.graph, 1));
    return ends.flops * calls * static_cast<double>(ends.work.size()) / 2;
  }

  /// Returns whether there are layers that stay in f32.
  bool KeepsFloat(KeepFloatMode mode) {
    const QuantizeOptions nearest = WithNearestRounding(options_);
    const Strategy plain = nearest == options_ ? model_->strategy : quantizer_.Plan(nearest);
    decided_.kept = KeepFloat({.judge = &*judge_,
                               .chosen = &model_->strategy,
                               .plain = &plain,
                               .ends = Ends(),
                               .most_work = mode == KeepFloatMode::kHalf ? 0.5 : 1.0,
                               .guard = input_.judged.guard,
                               .threads = input_.run.threads});
    for (const std::string& layer : decided_.kept->Names()) {
      options_.layers[layer] = Precision::kF32;
      options_.layer_bits.erase(layer);
    }
    return !decided_.kept->Names().empty();
  }

  const QuantizeInput& input_;
  QuantizeOptions& options_;
  Decided& decided_;
  ProgressLine line_;
  QuantizeProgress progress_;
  Quantizer quantizer_;
  std::optional<CalibrationJudge> judge_;
  std::optional<QuantizedModel> model_;  ///< with what is decided so far
};

}  // namespace

QuantizeOptions WithNearestRounding(QuantizeOptions options) {
  options.rounding = "nearest";
  options.reconstruct = options.correct_bias = false;
  return options;
}

QuantizedModel QuantizeByDefault(const QuantizeInput& input, const LeftOpen& open,
                                 QuantizeOptions& options, Decided& decided) {
  Deciding deciding(input, options, decided);
  const bool decides = open.ranges || open.rounding || open.keep_float != KeepFloatMode::kNone;
  return decides ? deciding.Decide(open) : deciding.Quantize();
}

}  // namespace msc::gym
