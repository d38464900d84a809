#include "cost/measure/local_evaluator.h"

#include <utility>

#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/measure/child.h"

namespace msc::cost {
namespace {

/// A request on disk for as long as a child needs it.
class RequestFile {
 public:
  RequestFile(const std::string& scratch, const ChildRequest& request)
      : path_(scratch + "/mscgym-request-XXXXXX") {
    const Descriptor file(::mkstemp(path_.data()));
    if (file.get() < 0) throw SystemError("cannot create a file in '" + scratch + "'", errno);
    try {
      WriteFileAtomic(path_, ToJson(request));
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  RequestFile(const RequestFile&) = delete;
  RequestFile& operator=(const RequestFile&) = delete;
  ~RequestFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Failure Nonsense() {
  return Failure{FailureKind::kCrash, "sent an answer that makes no sense"};
}

/// The record as an answer with one outcome for each strategy, or a list of profiles.
Result<ChildAnswer> ReadAnswer(const std::string& record, const ChildRequest& request) {
  ChildAnswer answer;
  try {
    answer = AnswerFromJson(record);
    for (const std::string& outcome : answer.outcomes) (void)OutcomeFromJson(outcome);
  } catch (const UserError&) {
    // The child, not the user, wrote this.
    return Nonsense();
  }
  const std::size_t wanted = request.strategies.size();
  const bool complete = request.mode == "profile" ? answer.profiles.size() == wanted + 1
                                                  : answer.outcomes.size() == wanted;
  if (!complete && !answer.user_error) return Nonsense();
  return answer;
}

bool HasPlausibleLatency(const Outcome& outcome) {
  return outcome.latency && outcome.latency->median_ns > 0 &&
         outcome.latency->reference_median_ns > 0 && outcome.latency->rounds > 0;
}

}  // namespace

LocalEvaluator::LocalEvaluator(LocalOptions options)
    : options_(std::move(options)), folder_(OpenFolder(options_.folder)) {
  Check(!options_.child.empty(), "a local evaluator knows how to start a child");
}

std::optional<Result<ChildAnswer>> LocalEvaluator::Ask(const ChildRequest& request,
                                                       const Stop& stop) {
  const EvaluationSettings& settings = folder_.settings;
  const bool quality = request.mode == "quality";
  const std::vector<int>& cores = quality ? options_.quality_cores : options_.latency_cores;
  const auto lock = LockCores(options_.lock_folder, cores,
                              quality ? CoreUse::kShared : CoreUse::kExclusive, stop);
  if (!lock) return std::nullopt;

  const RequestFile file(options_.scratch, request);
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
  command.limits.timeout =
      std::chrono::milliseconds(quality ? settings.quality_ms : settings.latency_ms);
  command.limits.memory_bytes = settings.memory_mb << 20U;

  auto report = RunChild(command, stop);
  if (!report.ok()) {
    if (report.failure().kind == FailureKind::kLost) return std::nullopt;
    return report.failure();
  }
  auto answer = ReadAnswer(report.value().record, request);
  if (answer.ok() && answer.value().user_error) throw UserError(*answer.value().user_error);
  return answer;
}

std::optional<Result<Outcome>> LocalEvaluator::AskQuality(const Strategy& strategy,
                                                          std::int64_t samples, const Stop& stop) {
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = "quality";
  request.strategies = {strategy};
  request.samples = samples;
  const auto answer = Ask(request, stop);
  if (!answer) return std::nullopt;
  if (!answer->ok()) return answer->failure();
  return OutcomeFromJson(answer->value().outcomes[0]);
}

std::optional<std::vector<Result<Outcome>>> LocalEvaluator::AskLatency(
    std::vector<Strategy> strategies, std::int64_t repeats, const Stop& stop) {
  ChildRequest request;
  request.folder = folder_.path;
  request.mode = "latency";
  request.strategies = std::move(strategies);
  request.repeats = repeats;
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

std::optional<Result<Outcome>> LocalEvaluator::EvaluateOne(const Candidate& candidate,
                                                           const Stop& stop) {
  auto quality = AskQuality(candidate.strategy, folder_.settings.samples, stop);
  if (!quality || !quality->ok() || candidate.measure == Measure::kQuality) return quality;
  const auto timed = AskLatency({candidate.strategy}, 1, stop);
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

std::vector<Result<Outcome>> LocalEvaluator::MeasureFinalists(std::span<const Strategy> strategies,
                                                              const Stop& stop) {
  constexpr std::int64_t kRepeats = 3;
  std::vector<Result<Outcome>> results;
  std::vector<Strategy> sound;
  std::vector<std::size_t> places;
  for (const Strategy& strategy : strategies) {
    auto quality = AskQuality(strategy, 0, stop);
    if (!quality) return {};
    if (quality->ok()) {
      sound.push_back(strategy);
      places.push_back(results.size());
    }
    results.push_back(*std::move(quality));
  }
  if (sound.empty()) return results;
  const auto timed = AskLatency(std::move(sound), kRepeats, stop);
  if (!timed) return {};
  for (std::size_t i = 0; i < places.size(); ++i) {
    Result<Outcome>& result = results[places[i]];
    const Result<Outcome>& latency = (*timed)[i];
    if (latency.ok()) {
      result.value().latency = latency.value().latency;
    } else {
      result = latency.failure();
    }
  }
  return results;
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
