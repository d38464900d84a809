#include "cost/measure/local_evaluator.h"

#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/passing_folder.h"
#include "compiler/pipeline/fitted.h"
#include "cost/measure/child.h"

namespace msc::cost {
namespace {

constexpr const char* kRequestPrefix = "mscgym-request-";

/// A request on disk for as long as a child needs it: a folder, with the weights that belong to it.
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
  PassingFolder folder_;
};

Failure Nonsense() {
  return Failure{FailureKind::kCrash, "sent an answer that makes no sense"};
}

bool Complete(const ChildAnswer& answer, const ChildRequest& request) {
  const std::size_t wanted = request.strategies.size();
  if (request.mode == "profile") return answer.profiles.size() == wanted + 1;
  if (request.mode == "fit" && answer.outcomes.empty()) return answer.fitted.size() == wanted;
  return answer.outcomes.size() == wanted;
}

/// The record as an answer with one outcome or fitted strategy for each strategy, or a list of
/// profiles.
Result<ChildAnswer> ReadAnswer(const std::string& record, const ChildRequest& request,
                               const std::string& folder) {
  ChildAnswer answer;
  try {
    answer = AnswerFromJson(record);
    for (const std::string& outcome : answer.outcomes) (void)OutcomeFromJson(outcome);
    for (Strategy& strategy : answer.fitted) LoadFitted(WeightsPath(folder, strategy), strategy);
  } catch (const UserError&) {
    // The child, not the user, wrote this.
    return Nonsense();
  }
  if (!answer.user_error && !Complete(answer, request)) return Nonsense();
  return answer;
}

constexpr std::int64_t kFitFileBytes = std::int64_t{64} << 30U;

/// With a child: beyond what timing is planned to take; every epoch of training is given as long as
/// a fit without.
std::chrono::milliseconds Patience(const ChildRequest& request,
                                   const EvaluationSettings& settings) {
  if (request.mode == "fit") {
    return std::chrono::milliseconds(settings.quality_ms) *
           (1 + request.strategies.at(0).fit.train.epochs);
  }
  if (request.mode == "quality") return std::chrono::milliseconds(settings.quality_ms);
  if (request.mode != "latency") return std::chrono::milliseconds(settings.latency_ms);
  const LatencyOptions& latency = settings.latency;
  const auto candidates = static_cast<std::int64_t>(request.strategies.size());
  return std::chrono::milliseconds(settings.latency_ms) +
         request.repeats * (candidates * std::chrono::milliseconds(latency.max_ms) +
                            (candidates + 1) * std::chrono::milliseconds(latency.max_warmup_ms));
}

bool HasPlausibleLatency(const Outcome& outcome) {
  return outcome.latency && outcome.latency->median_ns > 0 &&
         outcome.latency->reference_median_ns > 0 && outcome.latency->rounds > 0;
}

}  // namespace

LocalEvaluator::LocalEvaluator(LocalOptions options)
    : options_(std::move(options)), folder_(OpenFolder(options_.folder)) {
  Check(!options_.child.empty(), "a local evaluator knows how to start a child");
  SweepPassingFolders(options_.scratch, kRequestPrefix);  // of a search that was killed
}

std::optional<Result<ChildAnswer>> LocalEvaluator::Ask(const ChildRequest& request,
                                                       const Stop& stop) {
  const EvaluationSettings& settings = folder_.settings;
  // Neither is timed, so others may work beside it.
  const bool quality = request.mode == "quality" || request.mode == "fit";
  const std::vector<int>& cores = quality ? options_.quality_cores : options_.latency_cores;
  // Counters of energy hear whoever works in the package, on whatever core.
  const bool alone = request.mode == "latency" && settings.energy;
  const auto lock = LockCores(options_.lock_folder, alone ? AllCores() : cores,
                              quality ? CoreUse::kShared : CoreUse::kExclusive, stop);
  if (!lock) return std::nullopt;

  const RequestFolder file(options_.scratch, request);
  ChildCommand command;
  command.argv = options_.child;
  command.argv.push_back(file.path());
  command.cores = cores;
  command.environment = {"LC_ALL=C", "OMP_NUM_THREADS=" + std::to_string(settings.threads),
                         "OMP_DYNAMIC=false"};
  if (settings.threads > 1 && cores.size() == static_cast<std::size_t>(settings.threads)) {
    command.environment.emplace_back("OMP_PROC_BIND=true");
  }
  command.environment.insert(command.environment.end(), options_.environment.begin(),
                             options_.environment.end());
  command.limits.timeout = Patience(request, settings);
  command.limits.memory_bytes = settings.memory_mb << 20U;
  // It leaves weights in a file, never more than the model has, and keeps what layers compute of
  // all samples in one without a name: as much as there are samples, not as much as a file should
  // be.
  if (request.mode == "fit") command.limits.file_bytes = kFitFileBytes + WeightFileBytes(folder_);

  auto report = RunChild(command, stop);
  if (!report.ok()) {
    if (report.failure().kind == FailureKind::kLost) return std::nullopt;
    return report.failure();
  }
  auto answer = ReadAnswer(report.value().record, request, file.folder());
  if (answer.ok() && answer.value().user_error) throw UserError(*answer.value().user_error);
  return answer;
}

std::optional<Result<Strategy>> LocalEvaluator::Fit(const Strategy& strategy, const Stop& stop) {
  if (!strategy.fit.weights.empty() && strategy.fit.values == nullptr) {
    Strategy read = strategy;
    LoadFitted(WeightsPath(folder_.path, strategy), read);
    return read;
  }
  if (strategy.fit.samples.empty() || !strategy.fit.weights.empty()) return strategy;
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = "fit";
  request.strategies = {strategy};
  auto answer = Ask(request, stop);
  if (!answer) return std::nullopt;
  if (!answer->ok()) return answer->failure();
  if (!answer->value().fitted.empty()) return std::move(answer->value().fitted[0]);
  const auto outcome = OutcomeFromJson(answer->value().outcomes[0]);
  return outcome.ok() ? Nonsense() : outcome.failure();
}

std::optional<Result<Outcome>> LocalEvaluator::AskQuality(const Strategy& strategy,
                                                          ChildRequest request, const Stop& stop) {
  request.folder = folder_.path;
  request.mode = "quality";
  request.strategies = {strategy};
  const auto answer = Ask(request, stop);
  if (!answer) return std::nullopt;
  if (!answer->ok()) return answer->failure();
  return OutcomeFromJson(answer->value().outcomes[0]);
}

std::optional<std::vector<Result<Outcome>>> LocalEvaluator::AskLatency(
    std::vector<Strategy> strategies, std::int64_t repeats, std::int64_t part, const Stop& stop) {
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = "latency";
  request.strategies = std::move(strategies);
  request.repeats = repeats;
  request.part = part;
  const auto answer = Ask(request, stop);
  if (!answer) return std::nullopt;
  std::vector<Result<Outcome>> results;
  for (std::size_t i = 0; i < request.strategies.size(); ++i) {
    if (!answer->ok()) {
      results.emplace_back(answer->failure());
      continue;
    }
    auto outcome = OutcomeFromJson(answer->value().outcomes[i]);
    if (outcome.ok() && !HasPlausibleLatency(outcome.value())) outcome = Nonsense();
    results.push_back(std::move(outcome));
  }
  return results;
}

namespace {

/// One in so many samples, and of the time.
std::int64_t PartOf(Measure measure) {
  switch (measure) {
    case Measure::kQuality:
    case Measure::kQualityAndLatency:
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
  const std::int64_t samples = settings.samples > 0 ? settings.samples : all;
  const bool full = candidate.measure == Measure::kQualityAndLatency;
  const std::int64_t most = settings.most_samples > 0 ? settings.most_samples : all;
  ChildRequest request;
  request.samples = (samples + part - 1) / part;
  request.most = full ? most : 0;
  auto quality = AskQuality(strategy, std::move(request), stop);
  if (!quality || !quality->ok() || candidate.measure == Measure::kQuality) return quality;
  const auto timed = AskLatency({strategy}, 1, part, stop);
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
  request.fresh = samples.fresh;
  return AskQuality(strategy, std::move(request), stop);
}

std::vector<Result<Outcome>> LocalEvaluator::TimeTogether(std::vector<Strategy> strategies,
                                                          const Stop& stop) {
  constexpr std::int64_t kRepeats = 3;
  auto timed = AskLatency(std::move(strategies), kRepeats, 1, stop);
  return timed ? *std::move(timed) : std::vector<Result<Outcome>>();
}

std::vector<Result<Outcome>> LocalEvaluator::TimeOnce(std::vector<Strategy> strategies,
                                                      std::int64_t part, const Stop& stop) {
  auto timed = AskLatency(std::move(strategies), 1, part, stop);
  return timed ? *std::move(timed) : std::vector<Result<Outcome>>();
}

Result<std::vector<Profile>> LocalEvaluator::ProfileSteps(std::span<const Strategy> strategies,
                                                          std::int64_t runs, const Stop& stop) {
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = "profile";
  request.strategies.assign(strategies.begin(), strategies.end());
  request.repeats = runs;
  auto answer = Ask(request, stop);
  if (!answer) return std::vector<Profile>();
  if (!answer->ok()) return answer->failure();
  return std::move(answer->value().profiles);
}

}  // namespace msc::cost
