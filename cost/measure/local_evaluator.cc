#include "cost/measure/local_evaluator.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/targets/spec.h"
#include "cost/measure/persist.h"
#include "cost/quality/verdict.h"

namespace msc::cost {
namespace {

constexpr const char* kRequestPrefix = "mscgym-request-";
constexpr const char* kOutputsPrefix = "mscgym-outputs-";
constexpr std::uintmax_t kMostFitBytes = std::uintmax_t{2} << 30U;

/// A request in a temporary folder, with the weights that belong to it, for the lifetime of this
/// object.
class RequestFolder {
 public:
  RequestFolder(const std::string& scratch, ChildRequest request)
      : folder_(scratch, kRequestPrefix) {
    request.weights = folder();
    for (const Strategy& strategy : request.strategies) {
      if (strategy.fit.values) SaveFitted(strategy, WeightsPath(folder(), strategy));
    }
    WriteFileAtomic(path(), ToJson(request));
  }
  [[nodiscard]] std::string path() const { return folder() + "/request.json"; }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

Failure Nonsense() {
  return Failure{FailureKind::kCrash, "sent an invalid answer"};
}

bool Complete(const ChildAnswer& answer, const ChildRequest& request) {
  const std::size_t wanted = request.strategies.size();
  if (request.mode == ChildMode::kProfile) return answer.profiles.size() == wanted + 1;
  if (request.mode == ChildMode::kFit && answer.outcomes.empty())
    return answer.fitted.size() == wanted;
  if (request.mode == ChildMode::kChanged && answer.outcomes.empty()) return true;
  return answer.outcomes.size() == wanted;
}

/// Parses and checks the record: it must have one outcome or fitted strategy for each strategy, or
/// all profiles.
Result<ChildAnswer> ReadAnswer(const std::string& record, const ChildRequest& request,
                               const std::string& folder) {
  ChildAnswer answer;
  try {
    answer = AnswerFromJson(record);
    for (Strategy& strategy : answer.fitted) LoadFitted(WeightsPath(folder, strategy), strategy);
  } catch (const UserError&) {
    // The child wrote this, so it is no error of the user.
    return Nonsense();
  }
  if (!answer.user_error && !Complete(answer, request)) return Nonsense();
  return answer;
}

constexpr std::int64_t kFitFileBytes = std::int64_t{64} << 30U;
constexpr std::int64_t kOutputFileBytes = std::int64_t{1} << 40U;

/// Returns the milliseconds that the uncompressed model takes for that many samples, from the time
/// of a full run in batches. Without batches it may take longer.
double RunMs(const PreparedFolder& folder, std::int64_t samples) {
  const auto all = static_cast<double>(std::max<std::int64_t>(folder.samples, 1));
  return folder.run_ms / all * static_cast<double>(samples);
}

/// Estimates the milliseconds that the child would need if all candidates were the uncompressed
/// model, without the planned time of timing.
double OwnMs(const ChildRequest& request, const PreparedFolder& folder) {
  const auto models = static_cast<double>(request.strategies.size() + 1);
  if (request.mode == ChildMode::kQuality || request.mode == ChildMode::kChanged) {
    const std::int64_t rest = std::max<std::int64_t>(folder.samples - request.first, 0);
    const std::int64_t asked = request.samples == 0 ? rest : request.samples;
    // One build for the batch, one for the sizes of a single sample.
    return 2 * folder.build_ms + RunMs(folder, std::min(std::max(asked, request.most), rest));
  }
  if (request.mode == ChildMode::kFit) return folder.build_ms + RunMs(folder, folder.samples);
  // Calls that take longer than their budget are still timed.
  const std::int64_t rounds = request.mode == ChildMode::kLatency
                                  ? request.repeats * (1 + folder.settings.latency.min_rounds)
                                  : 1 + request.repeats;
  return models * (folder.build_ms + RunMs(folder, 1 + rounds));
}

/// Returns the time that timing is planned to take.
std::chrono::milliseconds PlannedTime(const ChildRequest& request, const LatencyOptions& latency) {
  if (request.mode != ChildMode::kLatency) return std::chrono::milliseconds(0);
  const auto candidates = static_cast<std::int64_t>(request.strategies.size());
  return request.repeats * (candidates * std::chrono::milliseconds(latency.max_ms) +
                            (candidates + 1) * std::chrono::milliseconds(latency.max_warmup_ms));
}

/// Returns the failure if another process ended the child, or a compiler that the child started.
std::optional<Failure> Interruption(const Result<ChildAnswer>& answer) {
  const auto is = [](const Failure& failure) { return failure.kind == FailureKind::kLost; };
  if (!answer.ok()) return is(answer.failure()) ? std::optional(answer.failure()) : std::nullopt;
  for (const Result<Outcome>& outcome : answer.value().outcomes) {
    if (!outcome.ok() && is(outcome.failure())) return outcome.failure();
  }
  return std::nullopt;
}

/// Adds to an out-of-memory failure which limit to change.
Failure WithLimit(Failure failure, std::int64_t memory_bytes) {
  if (failure.kind == FailureKind::kOutOfMemory && memory_bytes > 0) {
    failure.detail +=
        "; a child may use " + std::to_string(memory_bytes >> 20U) + " MB (memory_mb)";
  }
  return failure;
}

ChildAnswer WithLimit(ChildAnswer answer, std::int64_t memory_bytes) {
  for (Result<Outcome>& outcome : answer.outcomes) {
    if (!outcome.ok()) outcome = WithLimit(outcome.failure(), memory_bytes);
  }
  return answer;
}

bool HasPlausibleLatency(const Outcome& outcome) {
  return outcome.latency && outcome.latency->median_ns > 0 &&
         outcome.latency->reference_median_ns > 0 && outcome.latency->rounds > 0;
}

MetricHost MetricHostOf(const LocalOptions& options, const PreparedFolder& folder) {
  const std::int64_t own = folder.settings.memory_mb;
  return {.scratch = options.scratch,
          .program = options.child.at(0),
          .environment = options.metric_environment,
          .cores = options.quality_cores,
          .memory_bytes = (own > 0 ? own : options.memory_mb) << 20U,
          .functions = options.metric_functions};
}

/// Returns how many samples to judge next, because users' metrics leave limits undecided on those
/// that were judged; 0 if they are decided, or no more may be used.
std::int64_t MoreSamples(const ChildRequest& request, const PreparedFolder& folder,
                         const Quality& quality) {
  const std::int64_t most = std::min(request.most, folder.samples - request.first);
  const QualityLimits& limits = folder.settings.limits;
  if (quality.samples >= most || !IsOpen(quality, limits, folder.samples)) return 0;
  const bool whole =
      std::any_of(quality.metrics.begin(), quality.metrics.end(),
                  [&](const auto& metric) { return metric.whole && limits.contains(metric.name); });
  // A number for all samples has no interval that could decide before the last of them.
  return whole ? most : std::min(2 * quality.samples, most);
}

/// Returns whether the request needs its cores exclusively.
bool IsTimed(const ChildRequest& request) {
  return request.mode == ChildMode::kLatency || request.mode == ChildMode::kProfile;
}

/// Returns the strategy that a file keeps; nothing if there is none, or if a search was killed
/// while it wrote it.
std::optional<Strategy> ReadFit(const std::string& path) {
  if (path.empty() || !std::filesystem::exists(path)) return std::nullopt;
  try {
    return LoadStrategy(path);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

TimeLimits ChildTimeLimits(const ChildRequest& request, const PreparedFolder& folder) {
  using Milliseconds = std::chrono::milliseconds;
  constexpr double kTimes = 10;
  constexpr std::int64_t kLeastIdleMs = 3000;  // another load may slow the machine down this much
  const EvaluationSettings& settings = folder.settings;
  const std::int64_t patience = IsTimed(request) ? settings.latency_ms : settings.quality_ms;
  const auto own = static_cast<std::int64_t>(kTimes * OwnMs(request, folder));
  // Every epoch of training gets as much time as a fit without training.
  const std::int64_t epochs =
      request.mode == ChildMode::kFit ? 1 + request.strategies.at(0).fit.train.epochs : 1;
  TimeLimits limits;
  limits.whole =
      epochs * Milliseconds(std::max(patience, own)) + PlannedTime(request, settings.latency);
  limits.idle = Milliseconds(std::max(kLeastIdleMs, own));
  return limits;
}

LocalEvaluator::LocalEvaluator(LocalOptions options)
    : options_(std::move(options)), folder_(OpenFolder(options_.folder)) {
  Check(!options_.child.empty(), "a local evaluator knows how to start a child");
  // Left by a search that was killed.
  for (const char* prefix : {kRequestPrefix, kOutputsPrefix, kMetricPrefix}) {
    SweepTemporaryFolders(options_.scratch, prefix);
  }
  metrics_ = OpenMetrics(folder_, MetricHostOf(options_, folder_));
}

std::optional<Result<ChildAnswer>> LocalEvaluator::Ask(const ChildRequest& request,
                                                       const Stop& stop) {
  for (int tries = 1;; ++tries) {
    auto answer = AskOnce(request, stop);
    if (!answer) return std::nullopt;
    const auto interruption = Interruption(*answer);
    if (!interruption) return answer;
    if (WaitToTryAgain(tries, stop)) continue;
    if (tries < kMaxTries) return std::nullopt;
    return GivenUp(*interruption, tries);
  }
}

ChildCommand LocalEvaluator::CommandFor(const ChildRequest& request,
                                        const std::string& path) const {
  const EvaluationSettings& settings = folder_.settings;
  ChildCommand command;
  command.argv = options_.child;
  command.argv.push_back(path);
  command.cores = IsTimed(request) ? options_.latency_cores : options_.quality_cores;
  const bool a_core_each =
      settings.threads > 1 && command.cores.size() == static_cast<std::size_t>(settings.threads);
  command.environment = ChildEnvironment(settings.threads, a_core_each, options_.environment);
  const TimeLimits limits = ChildTimeLimits(request, folder_);
  command.limits.timeout = limits.whole;
  command.limits.idle = limits.idle;
  command.limits.memory_bytes = (settings.memory_mb > 0 ? settings.memory_mb : options_.memory_mb)
                                << 20U;
  // A fit writes a file of weights, at most as large as the model's, and keeps intermediate results
  // of all samples in a file without a name, whose size depends on the number of samples.
  if (request.mode == ChildMode::kFit)
    command.limits.file_bytes = kFitFileBytes + WeightFileBytes(folder_);
  if (!request.outputs.empty()) command.limits.file_bytes = kOutputFileBytes;
  return command;
}

std::optional<Result<ChildAnswer>> LocalEvaluator::AskOnce(const ChildRequest& request,
                                                           const Stop& stop) {
  const bool timed = IsTimed(request);
  const std::vector<int>& cores = timed ? options_.latency_cores : options_.quality_cores;
  // Energy counters include all work in the package, on any core.
  const bool alone = request.mode == ChildMode::kLatency && folder_.settings.energy;
  const auto lock = LockCores(options_.lock_folder, alone ? AllCores() : cores,
                              timed ? CoreUse::kExclusive : CoreUse::kShared, stop);
  if (!lock) return std::nullopt;

  const RequestFolder file(options_.scratch, request);
  const ChildCommand command = CommandFor(request, file.path());
  auto report = RunChild(command, stop);
  if (!report.ok()) {
    if (report.failure() == ToldToStop()) return std::nullopt;
    return WithLimit(report.failure(), command.limits.memory_bytes);
  }
  auto answer = ReadAnswer(report.value().record, request, file.folder());
  if (!answer.ok()) return answer;
  if (answer.value().user_error) throw UserError(*answer.value().user_error);
  return WithLimit(std::move(answer).value(), command.limits.memory_bytes);
}

std::string LocalEvaluator::KeptPath(const Strategy& strategy) const {
  return options_.fits.empty() ? "" : options_.fits + "/" + StrategyHash(strategy) + ".json";
}

void LocalEvaluator::Keep(const Strategy& fitted, const std::string& path) const {
  if (path.empty()) return;
  MakeFolders(options_.fits);
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(options_.fits)) {
    std::error_code gone;  // another worker renames what it has written
    const std::uintmax_t size = file.file_size(gone);
    if (!gone) bytes += size;
  }
  if (bytes < kMostFitBytes) SaveStrategy(fitted, path);
}

std::optional<Result<Strategy>> LocalEvaluator::Fit(const Strategy& strategy, const Stop& stop) {
  if (!strategy.fit.weights.empty() && strategy.fit.values == nullptr) {
    Strategy read = strategy;
    LoadFitted(WeightsPath(folder_.path, strategy), read);
    return read;
  }
  if (strategy.fit.samples.empty() || !strategy.fit.weights.empty()) return strategy;
  const std::string kept = KeptPath(strategy);
  if (auto fitted = ReadFit(kept)) return *std::move(fitted);
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = ChildMode::kFit;
  request.strategies = {strategy};
  auto answer = Ask(request, stop);
  if (!answer) return std::nullopt;
  if (!answer->ok()) return answer->failure();
  if (!answer->value().fitted.empty()) {
    Keep(answer->value().fitted[0], kept);
    return std::move(answer->value().fitted[0]);
  }
  const Result<Outcome>& outcome = answer->value().outcomes[0];
  return outcome.ok() ? Nonsense() : outcome.failure();
}

std::optional<Result<Outcome>> LocalEvaluator::AskQuality(const Strategy& strategy,
                                                          ChildRequest request, const Stop& stop) {
  request.folder = folder_.path;
  request.mode = ChildMode::kQuality;
  request.strategies = {strategy};
  if (!metrics_) return AskLosses(request, stop);
  const TemporaryFolder outputs(options_.scratch, kOutputsPrefix);
  request.outputs = std::filesystem::absolute(outputs.path()).string();
  while (true) {
    auto result = AskLosses(request, stop);
    if (!result || !result->ok()) return result;
    const auto failure = AddMetrics(request, result->value(), stop);
    if (failure && *failure == ToldToStop()) return std::nullopt;
    if (failure) return *failure;
    const std::int64_t more = MoreSamples(request, folder_, result->value().quality);
    if (more == 0) return result;
    request.samples = more;
  }
}

std::optional<Result<Outcome>> LocalEvaluator::AskLosses(const ChildRequest& request,
                                                         const Stop& stop) {
  const auto answer = Ask(request, stop);
  if (!answer) return std::nullopt;
  if (!answer->ok()) return answer->failure();
  return answer->value().outcomes[0];
}

std::optional<Failure> LocalEvaluator::AddMetrics(const ChildRequest& request, Outcome& outcome,
                                                  const Stop& stop) {
  const auto lock = LockCores(options_.lock_folder, options_.quality_cores, CoreUse::kShared, stop);
  if (!lock) return ToldToStop();
  const std::int64_t seen = outcome.quality.samples;
  const std::vector<ArrayFile> files = OutputFiles(folder_, request.outputs, request.first);
  auto all = metrics_->Judge(files, {request.first, seen}, stop);
  if (!all.ok()) return all.failure();
  outcome.quality.metrics = std::move(all).value();
  if (!outcome.held_out) return std::nullopt;
  const std::int64_t held_out = outcome.held_out->samples;
  auto others = metrics_->Judge(files, {request.first + seen - held_out, held_out}, stop);
  if (!others.ok()) return others.failure();
  outcome.held_out->metrics = std::move(others).value();
  return std::nullopt;
}

std::optional<std::vector<Result<Outcome>>> LocalEvaluator::AskLatency(
    std::vector<Strategy> strategies, ChildRequest request, const Stop& stop) {
  request.folder = folder_.path;
  request.mode = ChildMode::kLatency;
  request.strategies = std::move(strategies);
  const auto answer = Ask(request, stop);
  if (!answer) return std::nullopt;
  std::vector<Result<Outcome>> results;
  for (std::size_t i = 0; i < request.strategies.size(); ++i) {
    if (!answer->ok()) {
      results.emplace_back(answer->failure());
      continue;
    }
    Result<Outcome> outcome = answer->value().outcomes[i];
    if (outcome.ok() && !HasPlausibleLatency(outcome.value())) outcome = Nonsense();
    results.push_back(std::move(outcome));
  }
  return results;
}

namespace {

/// Returns the divisor of samples and time.
std::int64_t PartOf(Measure measure) {
  switch (measure) {
    case Measure::kQuality:
    case Measure::kQualityAndLatency:
    case Measure::kProbe:
      return 1;
    case Measure::kRough:
      return 4;
    case Measure::kRoughest:
      return 16;
  }
  return 1;
}

}  // namespace

std::optional<Result<Outcome>> LocalEvaluator::EvaluateOne(const Candidate& candidate,
                                                           const Stop& stop) {
  const auto fitted = Fit(candidate.strategy, stop);
  if (!fitted) return std::nullopt;
  if (!fitted->ok()) return fitted->failure();
  const Strategy& strategy = fitted->value();
  const std::int64_t part = PartOf(candidate.measure);
  const EvaluationSettings& settings = folder_.settings;
  const std::int64_t all = folder_.samples;
  const bool is_probe = candidate.measure == Measure::kProbe;
  std::int64_t samples = settings.samples > 0 ? settings.samples : all;
  if (is_probe) samples = std::min(samples, kProbeSamples);
  const bool full = candidate.measure == Measure::kQualityAndLatency;
  const std::int64_t most = settings.most_samples > 0 ? settings.most_samples : all;
  ChildRequest request;
  request.samples = (samples + part - 1) / part;
  // Rough stages of a race keep to their share of the samples.
  request.most = full ? most : 0;
  auto quality = AskQuality(strategy, std::move(request), stop);
  if (!quality || !quality->ok() || is_probe || candidate.measure == Measure::kQuality) {
    return quality;
  }
  ChildRequest timing;
  // The time of a candidate that surely misses a limit only tells what to propose next.
  const bool missed = !MissedLimits(quality->value().quality, settings.limits).empty();
  timing.part = missed ? std::max(part, PartOf(Measure::kRough)) : part;
  const auto timed = AskLatency({strategy}, std::move(timing), stop);
  if (!timed) return std::nullopt;
  const Result<Outcome>& latency = timed->front();
  if (!latency.ok()) return latency.failure();
  quality->value().latency = latency.value().latency;
  return quality;
}

void LocalEvaluator::DoEvaluate(std::span<const Candidate> batch, const Done& done,
                                const Stop& stop) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (stop && stop()) return;
    const auto result = EvaluateOne(batch[i], stop);
    if (!result) return;
    done(i, *result);
  }
}

std::optional<Result<Outcome>> LocalEvaluator::Judge(const Strategy& strategy,
                                                     const JudgedSamples& samples,
                                                     const Stop& stop) {
  ChildRequest request;
  request.first = samples.first;
  request.held_out = samples.held_out;
  return AskQuality(strategy, std::move(request), stop);
}

Result<std::vector<ChangedSample>> LocalEvaluator::FindChanged(const Strategy& strategy,
                                                               std::int64_t first,
                                                               const std::string& loss,
                                                               const Stop& stop) {
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = ChildMode::kChanged;
  request.strategies = {strategy};
  request.first = first;
  request.loss = loss;
  auto answer = Ask(request, stop);
  if (!answer) return std::vector<ChangedSample>();
  if (!answer->ok()) return answer->failure();
  if (answer->value().outcomes.empty()) return std::move(answer->value().changed);
  const Result<Outcome>& outcome = answer->value().outcomes[0];
  return outcome.ok() ? Nonsense() : outcome.failure();
}

std::vector<Result<Outcome>> LocalEvaluator::TimeTogether(std::vector<Strategy> strategies,
                                                          const Stop& stop) {
  ChildRequest request;
  request.repeats = 3;
  auto timed = AskLatency(std::move(strategies), std::move(request), stop);
  return timed ? *std::move(timed) : std::vector<Result<Outcome>>();
}

std::vector<Result<Outcome>> LocalEvaluator::TimeOnce(std::vector<Strategy> strategies,
                                                      std::int64_t part, const Stop& stop) {
  ChildRequest request;
  request.part = part;
  auto timed = AskLatency(std::move(strategies), std::move(request), stop);
  return timed ? *std::move(timed) : std::vector<Result<Outcome>>();
}

std::optional<Result<Outcome>> LocalEvaluator::TimeExported(Strategy strategy,
                                                            const std::string& target,
                                                            const Stop& stop) {
  RunAllOn(target, strategy);
  ChildRequest request;
  request.reader = ParseTargetSpec(target).name;
  try {
    const auto timed = AskLatency({std::move(strategy)}, std::move(request), stop);
    if (!timed) return std::nullopt;
    return timed->front();
  } catch (const UserError& error) {
    return Failure{FailureKind::kUnsupported, error.what()};
  }
}

Result<std::vector<Profile>> LocalEvaluator::ProfileSteps(std::span<const Strategy> strategies,
                                                          std::int64_t runs, const Stop& stop) {
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = ChildMode::kProfile;
  request.strategies.assign(strategies.begin(), strategies.end());
  request.repeats = runs;
  auto answer = Ask(request, stop);
  if (!answer) return std::vector<Profile>();
  if (!answer->ok()) return answer->failure();
  return std::move(answer->value().profiles);
}

}  // namespace msc::cost
