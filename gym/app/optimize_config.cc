#include "gym/app/optimize_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/choose_target.h"
#include "compiler/pipeline/round_weights.h"
#include "compiler/pipeline/train.h"
#include "cost/model/loss.h"
#include "envs/compress/compress_config.h"
#include "envs/quantize/quantize_config.h"
#include "gym/app/fastest_target.h"
#include "gym/app/limits.h"
#include "gym/app/test_judge.h"
#include "gym/search/calibration.h"
#include "gym/search/losses.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"
#include "gym/search/settle_target.h"
#include "gym/study/study.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLeastSamples = 8;
/// Samples that tell what outputs are and how long a sample takes.
constexpr std::int64_t kLookedAt = 32;
/// Time that judging a trial may take, as far as samples decide it.
constexpr double kJudgeSeconds = 2;
constexpr std::int64_t kLeastJudged = 64;
constexpr std::int64_t kMostJudged = 1000;
/// Share of the time for what other choices would have done, which the report tells.
constexpr double kExplaining = 1.0 / 30;
/// Time that one run over the calibration samples may take, as far as samples decide it: a fit
/// takes several, and gains little from more samples than these.
constexpr double kCalibrateSeconds = 1.5;
constexpr std::int64_t kLeastCalibrating = 32;
/// Work of a fit by GPTQ that a trial may have, about a second.
constexpr double kMostGptqFlops = 2e10;
constexpr double kLeastSeconds = 20;
/// Largest part of the trials' time in which the best of them are trained.
constexpr double kTrainShare = 0.35;
/// Part of the whole time that one training may be expected to take.
constexpr double kTraining = 1.0 / 10;
/// Time of a training step on a sample, in runs of the f32 model on one core: forward, backward and
/// rounding with libtorch on two (MobileFaceNet, one sample a step: 16; EfficientNet-Lite0, four:
/// 8).
constexpr double kStepRuns = 12;
constexpr std::int64_t kMostEpochs = 8;
/// A sample takes about as long in any batch, and more steps learn more: EfficientNet-Lite0 in int8
/// is left with 0.70 of its loss after 18 steps of 16 samples, and with 0.46 after 75 of four.
constexpr std::int64_t kTrainBatch = 4;
/// Rate for a step of one sample. At ten times the rate, MobileFaceNet in int8 loses more after
/// 400 steps than before, at this one a third less. The root of a batch scales it, since Adam
/// divides by the root of the squared gradient.
constexpr double kTrainRate = 5e-6;
/// Half of the interval of a trial's latency is a hundredth of the f32 model's time.
constexpr double kLatencyWidth = 0.02;
/// Limit where class numbers are known and nothing was asked for, in percent points.
constexpr double kLostAccuracy = 0.5;

std::string Absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

/// Returns the number of samples, all of which are read once.
std::int64_t CountOf(const SampleOptions& samples, const Graph& graph, const std::string& images) {
  return OpenSamples(samples.data, graph, images, "", 0)->count();
}

/// What a look at the f32 model shows.
struct Look {
  std::vector<std::string> losses;  ///< that the outputs have
  OutputForms forms;
  double seconds_a_sample = 0;
};

Look LookAt(const OptimizeRequest& request, const Graph& graph, cost::DataConfig judged,
            const std::string& target) {
  const TargetRegistry targets = MakeTargets();
  judged.or_fewer = true;
  TestSamples samples =
      WithLabels(OpenSamples(judged, graph, judged.images, judged.labels, kLookedAt));
  const std::int64_t count = samples.source->count();
  // One call at a time, which is timed.
  const CalibrationRun run{.target = FittingTarget(target), .threads = request.threads, .calls = 1};
  JudgeOptions options = request.samples.judged;
  options.metrics.clear();  // a search runs them
  options.limits.clear();
  const TestJudge judge(std::move(samples), graph, run, targets, options);
  const auto began = Clock::now();
  const cost::Quality same = judge.Judge(graph);
  const std::chrono::duration<double> took = Clock::now() - began;
  Look look{
      .losses = {},
      .forms = judge.forms(),
      .seconds_a_sample = took.count() / static_cast<double>(std::max<std::int64_t>(count, 1))};
  for (const auto& [loss, estimate] : same.Losses()) look.losses.push_back(loss);
  return look;
}

/// Returns the target of the request or, if that leaves it open, the one of kTimed on which the
/// model is fastest, in f32 or int8; ChooseTarget's if the model runs on none of them.
std::string TargetFor(const OptimizeRequest& request, const Graph& graph, cost::DataConfig judged,
                      std::vector<std::string>& reasons) {
  // XNNPACK and ONNX Runtime were the fastest for none of the networks in docs/benchmarks.md.
  constexpr std::array kTimed = {"onednn", "native"};
  constexpr std::int64_t kSamples = 4;
  if (request.target != kAutoTarget) {
    reasons.push_back("target " + request.target);
    return request.target;
  }
  const TargetRegistry targets = MakeTargets();
  judged.or_fewer = true;
  const auto samples = OpenSamples(judged, graph, judged.images, {}, kSamples);
  const std::vector<std::string> timed(kTimed.begin(), kTimed.end());
  const std::vector<TargetTime> times =
      TimeTargets(graph, *samples, timed, request.threads, targets);
  if (times.empty()) {
    std::string target = ChooseTarget(targets);
    reasons.push_back("target " + target + ", the first with 8-bit kernels for this CPU");
    return target;
  }
  std::string text = "target " + times.front().target + ", the fastest here: ";
  for (const TargetTime& time : times) {
    text += (&time == &times.front() ? "" : "; ") + time.Text();
  }
  reasons.push_back(text);
  return times.front().target;
}

bool Has(const Look& look, std::string_view loss) {
  return std::ranges::find(look.losses, loss) != look.losses.end();
}

/// Returns the limits: those asked for, else what keeps a result from being suspicious.
cost::QualityLimits LimitsFor(const OptimizeRequest& request, const Look& look,
                              std::vector<std::string>& reasons) {
  cost::QualityLimits limits = request.samples.judged.limits;
  if (!limits.empty()) {
    std::vector<std::string> known = look.losses;
    for (const auto& [name, metric] : request.samples.judged.metrics) known.push_back(name);
    CheckLimits(limits, known);
    return limits;
  }
  const cost::Guard& guard = request.samples.judged.guard;
  if (Has(look, cost::kDisagreement)) {
    limits[std::string(cost::kDisagreement)] =
        guard.disagreement.value_or(cost::kGuardDisagreement);
  }
  if (Has(look, cost::kRelativeError) && guard.relative_error > 0) {
    limits[std::string(cost::kRelativeError)] = guard.relative_error;
  }
  if (Has(look, cost::kAccuracyDrop)) limits[std::string(cost::kAccuracyDrop)] = kLostAccuracy;
  std::string text;
  for (const auto& [loss, limit] : limits) {
    text +=
        (text.empty() ? "" : ", ") + cost::TitleOf(loss) + " at most " + FormatLoss(loss, limit);
  }
  reasons.push_back(text.empty() ? "no limit: give --limit LOSS=VALUE"
                                 : "limits, since --limit gives none: " + text);
  return limits;
}

/// Returns the loss that tells how near two models are before decisions change.
std::string FineLossName(const Look& look) {
  for (const auto loss : {cost::kDistillLoss, cost::kRelativeError, cost::kDisagreement}) {
    if (Has(look, loss)) return std::string(loss);
  }
  return look.losses.empty() ? "" : look.losses.front();
}

ObjectiveConfig ObjectiveFor(const OptimizeRequest& request, const Look& look,
                             std::vector<std::string>& reasons) {
  ObjectiveConfig objective;
  const std::string loss = FineLossName(look);
  objective.minimize = {"latency"};
  for (const auto& [name, limit] : LimitsFor(request, look, reasons)) {
    objective.subject_to[name] = limit;
  }
  // Within limits only the time matters. Without any, the answers are the front of both.
  if (!loss.empty() && (request.faster || objective.subject_to.empty())) {
    objective.minimize.push_back(loss);
  }
  if (request.faster) {
    std::ranges::reverse(objective.minimize);
    objective.subject_to["latency"] = 1 / *request.faster;
    reasons.push_back(
        Formatted("as little loss as possible at %.3g times the speed of f32", *request.faster));
  }
  return objective;
}

/// Returns the env that decides what can be decided. UserError if nothing can.
std::string EnvFor(const Graph& graph, std::vector<std::string>& reasons) {
  const PruneSpace space(graph);
  const std::size_t layers = FindQuantizableLayers(graph).size();
  const std::size_t groups = space.groups().size();
  if (!space.fixed().empty()) {
    const FixedLayer& fixed = space.fixed().front();
    reasons.push_back("ruled out: channels of " + std::to_string(space.fixed().size()) +
                      " layers stay, such as those of '" + fixed.layer + "': " + fixed.reason);
  }
  if (layers == 0 && groups == 0) {
    throw UserError(
        "nothing of this model can be compressed: it has no layer to quantize and no channels to "
        "remove; mscgym partition may still make it faster");
  }
  std::string env = groups == 0 ? "quantize" : layers == 0 ? "prune" : "compress";
  reasons.push_back("decides " +
                    (layers > 0 ? "the precision of " + std::to_string(layers) + " layers"
                                : std::string("no precision, as no layer can be quantized")) +
                    " and " +
                    (groups > 0 ? "the channels of " + std::to_string(groups) + " groups"
                                : std::string("no channels, as none can be removed")) +
                    " (env " + env + ", agent auto)");
  return env;
}

/// Fills in which samples calibrate and which judge. Returns how many judge.
std::int64_t PlaceSamples(const OptimizeRequest& request, const Graph& graph, SearchConfig& config,
                          std::vector<std::string>& reasons) {
  const SampleOptions& samples = request.samples;
  cost::DataConfig calibration = samples.data;
  cost::DataConfig judged = samples.data;
  judged.images = Absolute(samples.test_images);
  for (const auto& [output, file] : samples.test_labels.files) {
    const bool is_word = file == cost::kLabelFolders;
    judged.labels.files[output] = is_word ? file : Absolute(file);
  }
  judged.alphabet = Absolute(samples.data.alphabet);
  std::int64_t judging = CountOf(samples, graph, samples.test_images);
  if (!samples.images.empty()) {
    calibration.images = Absolute(samples.images);
    config.calibration.samples.reset();
  } else {
    const SampleSplit split = Split(judging);
    judging = split.judge;
    // Files are often sorted by class, so that the first ones are not like the others.
    const std::uint64_t order = samples.data.shuffle == 0 ? 1 : samples.data.shuffle;
    calibration.images = judged.images;
    calibration.shuffle = judged.shuffle = order;
    config.calibration.samples = split.calibrate;
    judged.first = samples.data.first + split.calibrate;
    reasons.push_back(std::to_string(split.calibrate) + " samples in a random order calibrate, " +
                      std::to_string(split.judge) + " others judge");
  }
  config.calibration.data = std::move(calibration);
  config.quality.data = std::move(judged);
  return judging;
}

/// Uses fewer calibration samples if the model takes long.
void LimitCalibration(const OptimizeRequest& request, const Graph& graph, const Look& look,
                      SearchConfig& config, std::vector<std::string>& reasons) {
  cost::DataConfig& data = config.calibration.data;
  const std::int64_t given = config.calibration.samples
                                 ? *config.calibration.samples
                                 : CountOf(request.samples, graph, request.samples.images);
  const auto in_time =
      static_cast<std::int64_t>(kCalibrateSeconds / std::max(look.seconds_a_sample, 1e-9));
  const std::int64_t used = std::max(in_time, kLeastCalibrating);
  if (used >= std::min(given, kCalibrationSamples)) return;
  config.calibration.samples = used;
  // Files are often sorted by class.
  if (data.shuffle == 0) data.shuffle = 1;
  reasons.push_back(Formatted("%lld of %lld samples calibrate, since a run over all takes long",
                              static_cast<long long>(used), static_cast<long long>(given)));
}

/// Lets the search train its best trials if there is time for a training.
void PlanTraining(const OptimizeRequest& request, const Graph& graph, const Look& look,
                  SearchConfig& config, std::vector<std::string>& reasons) {
  if (config.env != "compress") return;
  // Weights that GPTQ rounded are nearly the best for the samples: docs/decisions/0022.
  if (config.section<envs::QuantizeConfig>().rounding == std::vector<std::string>{"gptq"}) {
    reasons.emplace_back("trains no candidate: after GPTQ, so few samples would improve little");
    return;
  }
  try {
    CheckTrainable(graph);
  } catch (const std::runtime_error& error) {  // UserError or SystemError
    reasons.push_back(std::string("trains no candidate: ") + error.what());
    return;
  }
  const auto samples = static_cast<double>(
      config.calibration.samples ? *config.calibration.samples
                                 : CountOf(request.samples, graph, request.samples.images));
  const double epoch_s = samples * kStepRuns * look.seconds_a_sample;
  const auto epochs = static_cast<std::int64_t>(kTraining * request.seconds / epoch_s);
  if (epochs < 1) {
    reasons.push_back(Formatted(
        "trains no candidate: an epoch would take about %.0f s, too much of the time", epoch_s));
    return;
  }
  auto& compress = config.section<envs::CompressConfig>();
  const std::int64_t batch = BatchSize(graph, kTrainBatch);
  compress.distill.epochs = {std::min(epochs, kMostEpochs)};
  compress.distill.batch = batch;
  compress.distill.rate = {kTrainRate * std::sqrt(static_cast<double>(batch))};
  compress.train_share = kTrainShare;
  const std::int64_t count = compress.distill.epochs.front();
  reasons.push_back("trains the best candidates for " + std::to_string(count) +
                    (count == 1 ? " epoch" : " epochs") +
                    Formatted(", in up to %.0f %% of the trials' time", 100 * kTrainShare));
}

}  // namespace

SampleSplit Split(std::int64_t count) {
  if (count < kLeastSamples) {
    throw UserError("there are " + std::to_string(count) + " samples; give at least " +
                    std::to_string(kLeastSamples) +
                    ", a few hundred for results that hold on others");
  }
  const std::int64_t calibrate = std::min(count / 4, kCalibrationSamples / 2);
  return {.calibrate = calibrate, .judge = count - calibrate};
}

OptimizePlan PlanOptimize(const OptimizeRequest& request, Clock::time_point began) {
  OptimizePlan plan;
  SearchConfig& config = plan.config;
  config.model = Absolute(request.model);
  config.shapes = request.shapes;
  config.threads = request.threads;
  config.seed = request.seed;
  config.trials = kAnyTrials;
  config.latency.target_width = kLatencyWidth;
  // What mscgym quantize would choose for most models; it tries others on each (choose_ranges.h).
  config.calibration.options.method = "mse";
  Graph graph = LoadModel(config.model, config.shapes);
  if (WorkOfGptq(graph) <= kMostGptqFlops) {
    config.section<envs::QuantizeConfig>().rounding = {"gptq"};
  } else {
    plan.reasons.emplace_back(
        "int8 weights are rounded to the nearest: by GPTQ, each trial of so "
        "wide layers would take many seconds");
  }
  PlaceSamplesOf(graph, request.samples.data,
                 {request.samples.images, request.samples.test_images});
  graph = WithKnownSizes(std::move(graph));
  config.env = EnvFor(graph, plan.reasons);
  const std::int64_t judged = PlaceSamples(request, graph, config, plan.reasons);
  config.target = TargetFor(request, graph, config.quality.data, plan.reasons);
  SettleBits(nullptr, config);
  if (const std::int64_t bits = config.section<envs::QuantizeConfig>().bits.front(); bits < 8) {
    plan.reasons.push_back(
        Formatted("int8 weights have %d bits: with 8, int8 is hardly faster than f32 on a CPU "
                  "without AVX-512 VNNI",
                  static_cast<int>(bits)));
  }
  const Look look = LookAt(request, graph, config.quality.data, config.target);
  config.quality.outputs = request.samples.judged.outputs;
  config.quality.metrics = request.samples.judged.metrics;
  config.quality.guard = request.samples.judged.guard;
  config.quality.samples =
      std::clamp(static_cast<std::int64_t>(kJudgeSeconds / std::max(look.seconds_a_sample, 1e-9)),
                 kLeastJudged, kMostJudged);
  // Finalists are judged on samples, too, that no trial saw (docs/decisions/0008).
  config.quality.samples =
      std::min(config.quality.samples, std::max(judged / 2, std::min(kLeastJudged, judged)));
  LimitCalibration(request, graph, look, config, plan.reasons);
  PlanTraining(request, graph, look, config, plan.reasons);
  config.objective = ObjectiveFor(request, look, plan.reasons);
  const std::chrono::duration<double> spent = Clock::now() - began;
  config.time_budget_s = request.seconds - spent.count();
  config.explain_s = std::min(config.explain_s, kExplaining * request.seconds);
  if (config.time_budget_s < kLeastSeconds) {
    throw UserError(
        Formatted("--time is too short: looking at the model took %.0f s, and a search "
                  "needs %.0f s more at least",
                  spent.count(), kLeastSeconds));
  }
  return plan;
}

}  // namespace msc::gym
