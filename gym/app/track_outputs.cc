#include "gym/app/track_outputs.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "compiler/base/duration_text.h"
#include "compiler/base/error.h"
#include "compiler/pipeline/compile.h"
#include "cost/quality/guard.h"

namespace msc::gym {
namespace {

/// Samples that say how far their reader is.
class WatchedSamples final : public SampleSource {
 public:
  WatchedSamples(std::shared_ptr<const SampleSource> samples, ProgressLine& line)
      : samples_(std::move(samples)), line_(line) {}
  /// Says who reads the samples from now on.
  void Begin(const std::string& stage) {
    stage_ = stage;
    began_ = std::chrono::steady_clock::now();
  }
  [[nodiscard]] std::int64_t count() const override { return samples_->count(); }
  [[nodiscard]] std::size_t inputs() const override { return samples_->inputs(); }
  [[nodiscard]] std::int64_t GroupEnd(std::int64_t first) const override {
    return samples_->GroupEnd(first);
  }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override {
    std::string text = "[track] outputs of " + stage_ + ": " + std::to_string(first) + " of " +
                       std::to_string(samples_->count()) + " samples";
    if (first > 0) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began_;
      const auto left = static_cast<double>(samples_->count() - first);
      text += ", " + FormatDuration(spent * left / static_cast<double>(first)) + " left";
    }
    line_.Show(text);
    return samples_->Read(first, count);
  }

 private:
  std::shared_ptr<const SampleSource> samples_;
  ProgressLine& line_;
  std::string stage_;
  std::chrono::steady_clock::time_point began_;
};

Judged JudgeStage(const TestJudge& judge, const cost::TrackStage& stage,
                  const TargetRegistry& targets) {
  if (!stage.compiled()) return judge.Look(stage.model.graph).judged;
  const Result<Executable> built =
      BuildExecutable(stage.model, targets, {.threads = stage.threads});
  if (!built.ok()) {
    throw UserError("stage " + stage.name + " cannot be compiled: " + built.failure().detail);
  }
  const ModelCall call = [&](std::span<const Tensor> inputs) { return built.value().Run(inputs); };
  return judge.Look(call).judged;
}

OutputsReport JudgeAll(const StagesToJudge& in, const TargetRegistry& targets, ProgressLine& line) {
  if (!in.samples) {
    throw UserError("the arrays of --input do not have the same number of samples");
  }
  const auto samples = std::make_shared<WatchedSamples>(in.samples, line);
  samples->Begin(in.baseline.name);
  const TestJudge judge({.source = samples}, in.baseline.model.graph, {.threads = in.threads},
                        targets, in.judged);
  OutputsReport report;
  for (const cost::TrackStage* stage : in.stages) {
    samples->Begin(stage->name);
    StageOutputs& outputs = report.stages.emplace_back();
    outputs.stage = stage->name;
    outputs.judged = JudgeStage(judge, *stage, targets);
    if (!outputs.judged.failure.empty()) continue;
    outputs.limits = JudgeLimits(in.judged.limits, outputs.judged.quality);
    outputs.suspicions = FindSuspicions(outputs.judged.quality, in.judged.limits, in.judged.guard);
  }
  return report;
}

}  // namespace

bool StageOutputs::hold() const {
  return judged.failure.empty() && suspicions.empty() &&
         std::ranges::all_of(limits, &LimitVerdict::kept);
}

OutputsReport JudgeStages(const StagesToJudge& in, const TargetRegistry& targets,
                          ProgressLine& line) {
  const bool asked =
      !in.judged.outputs.empty() || !in.judged.metrics.empty() || !in.judged.limits.empty();
  try {
    return JudgeAll(in, targets, line);
  } catch (const UserError& error) {
    if (asked) throw;
    return {.stages = {}, .not_judged = error.what()};
  }
}

}  // namespace msc::gym
