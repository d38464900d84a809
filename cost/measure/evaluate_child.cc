#include "cost/measure/evaluate_child.h"

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fit.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/build.h"
#include "cost/measure/child.h"
#include "cost/measure/energy.h"
#include "cost/measure/folder.h"
#include "cost/measure/judge.h"
#include "cost/measure/latency.h"
#include "cost/measure/probe.h"
#include "cost/measure/record.h"
#include "cost/measure/statistics.h"
#include "cost/quality/quality.h"

namespace msc::cost {
namespace {

/// Data shared by all modes.
struct Context {
  PreparedFolder folder;
  Graph graph;
  const TargetRegistry* targets = nullptr;
};

/// Clears the strategy's model hash if it is that of the prepared graph. Checking it would hash all
/// weights at every build, which is slow.
Strategy OfThisGraph(const Context& context, Strategy strategy) {
  if (strategy.model_hash == context.folder.graph_hash) strategy.model_hash.clear();
  return strategy;
}

Result<BuiltCandidate> Build(const Context& context, const Strategy& strategy, std::int64_t batch,
                             const std::string& reader = "") {
  return BuildCandidate(context.graph, OfThisGraph(context, strategy), *context.targets,
                        {context.folder.settings.threads, batch, reader});
}

Strategy Uncompressed(const Context& context) {
  Strategy strategy;
  strategy.target = context.folder.settings.target;
  return strategy;
}

/// Judges the outputs that the meter compared for the samples `rows`.
std::optional<Failure> Judge(const Context& context, const Strategy& strategy,
                             BuiltCandidate& built, const RowRange& rows,
                             const QualityMeter& meter) {
  const auto failure = JudgeOutputs(meter, strategy, context.folder.settings);
  if (!failure) return std::nullopt;
  const Strategy known = OfThisGraph(context, strategy);
  return JudgeDecisions({.folder = &context.folder,
                         .graph = &context.graph,
                         .targets = context.targets,
                         .strategy = &known,
                         .built = &built,
                         .rows = rows},
                        *failure);
}

/// Keeps outputs for users' metrics, which the caller of this child measures.
class OutputKeeper {
 public:
  OutputKeeper(const PreparedFolder& folder, const ChildRequest& request) {
    if (request.outputs.empty()) return;
    for (const ArrayFile& file : OutputFiles(folder, request.outputs, request.first)) {
      writers_.emplace_back(file.path);
    }
  }
  void Add(std::span<const Tensor> outputs) {
    for (std::size_t i = 0; i < writers_.size(); ++i) writers_[i].Append(outputs[i]);
  }
  void Finish() {
    for (NpyWriter& writer : writers_) writer.Finish();
  }

 private:
  std::vector<NpyWriter> writers_;
};

/// Runs the candidate on further samples and adds the outputs to all meters.
std::optional<Failure> AddRows(const Context& context, BuiltCandidate& built, const RowRange& rows,
                               std::span<QualityMeter* const> meters, OutputKeeper& keeper) {
  const std::vector<Tensor> inputs = LoadInputs(context.folder, rows);
  const std::vector<Tensor> reference = LoadReference(context.folder, rows);
  const std::vector<OutputLabels> labels = LoadOutputLabels(context.folder, rows);

  std::optional<Failure> failure;
  const auto judge = [&](std::int64_t first, std::span<const Tensor> outputs) {
    const std::int64_t count = outputs.front().dims()[0];
    std::vector<Tensor> wanted;
    wanted.reserve(reference.size());
    for (const Tensor& output : reference) wanted.push_back(Rows(output, first, count));
    const LabelRows of_these{.labels = labels, .first = first};
    for (QualityMeter* const meter : meters) {
      if (!failure) failure = meter->Add(wanted, outputs, of_these);
    }
    if (!failure) keeper.Add(outputs);
    return failure ? BatchVerdict::kStop : BatchVerdict::kGoOn;
  };
  ForEachBatch(built, inputs, CallsAtOnce(context.folder.settings.threads), judge);
  return failure;
}

/// Measures quality on the requested samples from `request.first` on, and on more while the verdict
/// is undecided.
Result<Outcome> MeasureQuality(const Context& context, const ChildRequest& request) {
  const Strategy& strategy = request.strategies[0];
  const std::int64_t all = context.folder.samples - request.first;
  if (all <= 0) {
    throw UserError("there are " + std::to_string(context.folder.samples) +
                    " samples, and none from number " + std::to_string(request.first) + " on");
  }
  const std::int64_t least = request.samples == 0 ? all : std::min(request.samples, all);
  const std::int64_t most = std::min(request.most, all);
  const EvaluationSettings& settings = context.folder.settings;
  auto built = Build(context, strategy, settings.batch);
  if (!built.ok()) return built.failure();
  QualityMeter meter(context.folder.forms);
  QualityMeter held_out(context.folder.forms);
  const std::array<QualityMeter*, 2> meters = {&meter, &held_out};
  const std::int64_t known = std::max<std::int64_t>(request.held_out - request.first, 0);
  const bool apart = request.held_out > 0;
  OutputKeeper keeper(context.folder, request);
  std::optional<Failure> failure;
  std::int64_t seen = 0;
  for (std::int64_t wanted = least; seen < wanted && !failure;) {
    // No call contains samples of both parts.
    const std::int64_t end = apart && seen < known ? std::min(known, wanted) : wanted;
    const std::size_t told = apart && seen >= known ? 2 : 1;
    failure = AddRows(context, built.value(), {request.first + seen, end - seen},
                      std::span(meters).first(told), keeper);
    seen = end;
    if (seen < wanted || failure) continue;
    // Only further samples are run, so doubling costs at most twice what the verdict needs.
    if (seen < most && IsOpen(meter.Total(), settings.limits, context.folder.samples)) {
      wanted = std::min(2 * seen, most);
    }
  }
  if (!failure) {
    failure = Judge(context, strategy, built.value(), {request.first, seen}, meter);
  }
  if (failure) return *std::move(failure);
  keeper.Finish();

  // The arena for one sample is the one that is reported.
  if (built.value().batch != 1) {
    built = Build(context, strategy, 1);
    if (!built.ok()) return built.failure();
  }
  Outcome outcome;
  outcome.quality = meter.Total();
  if (apart && seen > known) outcome.held_out = held_out.Total();
  outcome.weight_bytes = built.value().weight_bytes;
  outcome.peak_bytes = static_cast<std::int64_t>(built.value().executable.memory().arena_bytes);
  return outcome;
}

/// Finds the samples from `request.first` on that the candidate changes most.
void FindChanged(const Context& context, const ChildRequest& request, ChildAnswer& answer) {
  constexpr std::size_t kMost = 8;
  auto built = Build(context, request.strategies[0], context.folder.settings.batch);
  if (!built.ok()) {
    answer.outcomes.emplace_back(built.failure());
    return;
  }
  ChangeMeter meter(context.folder.forms, request.loss, kMost);
  const RowRange rows{request.first, context.folder.samples - request.first};
  const std::vector<Tensor> reference = LoadReference(context.folder, rows);
  ForEachBatch(built.value(), LoadInputs(context.folder, rows),
               CallsAtOnce(context.folder.settings.threads),
               [&](std::int64_t first, std::span<const Tensor> outputs) {
                 std::vector<Tensor> wanted;
                 for (const Tensor& output : reference) {
                   wanted.push_back(Rows(output, first, outputs.front().dims()[0]));
                 }
                 meter.Add(rows.first + first, wanted, outputs);
                 return BatchVerdict::kGoOn;
               });
  answer.changed = meter.Largest();
}

/// A built candidate with the inputs and outputs of its calls.
struct Runner {
  BuiltCandidate built;
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};

  void Run() { built.executable.RunInto(inputs, outputs); }
};

/// Makes a runner for the first sample, after judging the candidate's output for it.
Result<std::shared_ptr<Runner>> MakeRunner(const Context& context, const Strategy& strategy,
                                           const std::string& reader = "") {
  auto built = Build(context, strategy, 1, reader);
  if (!built.ok()) return built.failure();
  auto runner = std::make_shared<Runner>(Runner{.built = std::move(built).value()});
  const RowRange rows{0, runner->built.batch};
  const SampleLayout& layout = runner->built.layout;
  runner->inputs = InputsOfRows(layout, LoadInputs(context.folder, rows));
  runner->outputs = runner->built.executable.Run(runner->inputs);
  QualityMeter meter(context.folder.forms);
  auto failure =
      meter.Add(LoadReference(context.folder, rows), RowsOfOutputs(layout, runner->outputs), {});
  if (!failure) failure = Judge(context, strategy, runner->built, rows, meter);
  if (failure) return *std::move(failure);
  return runner;
}

/// Returns whether a failure depends on the current state of the machine instead of model and
/// target.
bool IsOfTheMoment(const Failure& failure) {
  return failure.kind == FailureKind::kLost || failure.kind == FailureKind::kTimeout ||
         failure.kind == FailureKind::kOutOfMemory;
}

std::vector<Result<Outcome>> MeasureLatencies(const Context& context, const ChildRequest& request) {
  auto reference = MakeRunner(context, Uncompressed(context));
  std::vector<Result<Outcome>> outcomes;
  if (!reference.ok()) {
    if (!IsOfTheMoment(reference.failure())) {
      throw UserError("the uncompressed model cannot be timed: " + reference.failure().detail);
    }
    outcomes.assign(request.strategies.size(), reference.failure());
    return outcomes;
  }
  // Only candidates whose outputs pass are timed.
  std::vector<std::size_t> running;  // indices into `outcomes`
  std::vector<std::shared_ptr<Runner>> runners;
  std::vector<Call> calls;
  for (const Strategy& strategy : request.strategies) {
    auto runner = MakeRunner(context, strategy, request.reader);
    if (!runner.ok()) {
      outcomes.emplace_back(runner.failure());
      continue;
    }
    running.push_back(outcomes.size());
    outcomes.emplace_back(Outcome{});
    runners.push_back(std::move(runner).value());
    calls.emplace_back([&r = *runners.back()] { r.Run(); });
  }
  if (calls.empty()) return outcomes;

  LatencyOptions options = context.folder.settings.latency;
  constexpr std::int64_t kLeastRounds = 3;
  // A rough measurement has its part of the rounds and of the time, but no interval comes from
  // fewer than three rounds.
  for (std::int64_t* const rounds : {&options.min_rounds, &options.max_rounds}) {
    *rounds = std::max(kLeastRounds, *rounds / request.part);
  }
  for (std::int64_t* const ms : {&options.max_ms, &options.max_warmup_ms}) *ms /= request.part;
  options.max_ms = std::max<std::int64_t>(options.max_ms, 1);
  const Call run_reference = [&r = *reference.value()] { r.Run(); };
  const Probe probe = SystemProbe();
  std::optional<Result<EnergyMeter>> meter;
  std::optional<EnergyProbe> energy;
  if (context.folder.settings.energy) {
    meter = EnergyMeter::Open();
    if (!meter->ok()) {
      outcomes.assign(outcomes.size(), meter->failure());
      return outcomes;
    }
    energy = EnergyProbe{.now = probe.now, .joules = [&] { return meter->value().Joules(); }};
  }
  const std::vector<Latency> latencies =
      MeasureRepeats(run_reference, calls, options, request.repeats, probe, energy);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Outcome& outcome = outcomes[running[i]].value();
    outcome.latency = latencies[i];
    outcome.weight_bytes = runners[i]->built.weight_bytes;
    outcome.peak_bytes =
        static_cast<std::int64_t>(runners[i]->built.executable.memory().arena_bytes);
  }
  return outcomes;
}

Profile ProfileSteps(const Context& context, const Strategy& strategy, std::int64_t repeats) {
  Profile profile;
  auto runner = MakeRunner(context, strategy);
  if (!runner.ok()) {
    profile.failure = runner.failure().detail;
    return profile;
  }
  std::vector<std::vector<double>> times;
  std::vector<StepTime> steps;
  // The first run finds cold caches and does not count.
  for (std::int64_t run = 0; run <= repeats; ++run) {
    steps.clear();
    (void)runner.value()->built.executable.Profile(runner.value()->inputs, steps);
    times.resize(steps.size());
    if (run == 0) continue;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      times[i].push_back(static_cast<double>(steps[i].time.count()));
    }
  }
  profile.steps.reserve(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    profile.steps.push_back({steps[i].name, steps[i].target, steps[i].precision, steps[i].nodes,
                             Median(times[i]), steps[i].precisions});
  }
  return profile;
}

void Fit(const Context& context, const ChildRequest& request, ChildAnswer& answer) {
  Strategy strategy = request.strategies.at(0);
  if (context.folder.fit_hash != strategy.fit.samples) {
    throw UserError("the candidate must be fitted to other samples than the prepared ones");
  }
  const std::unique_ptr<SampleSource> samples = OpenCalibration(context.folder);
  const Result<Strategy> fitted =
      FitStrategy(context.graph, strategy, *samples, context.folder.fit, *context.targets);
  if (!fitted.ok()) {
    answer.outcomes.emplace_back(fitted.failure());
    return;
  }
  SaveFitted(fitted.value(), WeightsPath(request.weights, fitted.value()));
  answer.fitted.push_back(fitted.value());
}

/// Writes a line for the caller's log and returns the exit status 1.
int Complain(const char* what) {
  std::cerr << what << "\n";
  return 1;
}

}  // namespace

ChildAnswer AnswerRequest(ChildRequest request, const TargetRegistry& targets) {
  for (Strategy& strategy : request.strategies) {
    if (strategy.fit.weights.empty() || strategy.fit.values != nullptr) continue;
    LoadFitted(WeightsPath(request.weights, strategy), strategy);
  }
  Context context;
  context.folder = OpenFolder(request.folder);
  context.graph = LoadCanonical(context.folder);
  context.targets = &targets;
  UseThreads(context.folder.settings.threads);
  ChildAnswer answer;
  const bool of_one = request.mode == ChildMode::kFit || request.mode == ChildMode::kQuality ||
                      request.mode == ChildMode::kChanged;
  if (of_one && request.strategies.size() != 1) {
    throw UserError(StringForm<ChildMode>::Write(request.mode) + " is asked of one strategy");
  }
  switch (request.mode) {
    case ChildMode::kFit:
      Fit(context, request, answer);
      break;
    case ChildMode::kQuality:
      answer.outcomes.push_back(MeasureQuality(context, request));
      break;
    case ChildMode::kLatency:
      answer.outcomes = MeasureLatencies(context, request);
      break;
    case ChildMode::kChanged:
      FindChanged(context, request, answer);
      break;
    case ChildMode::kProfile:
      answer.profiles.reserve(request.strategies.size() + 1);
      answer.profiles.push_back(ProfileSteps(context, Uncompressed(context), request.repeats));
      for (const Strategy& strategy : request.strategies) {
        answer.profiles.push_back(ProfileSteps(context, strategy, request.repeats));
      }
      break;
  }
  return answer;
}

int MeasureChildMain(const std::string& request_path, const TargetRegistry& targets) {
  // No exception may leave the child: everything becomes a record or an exit status.
  try {
    ChildAnswer answer;
    try {
      answer =
          AnswerRequest(RequestFromJson(ReadFile(request_path), "'" + request_path + "'"), targets);
    } catch (const UserError& error) {
      answer.user_error = error.what();
    }
    WriteRecord(kRecordFd, ToJson(answer));
    return 0;
  } catch (const std::bad_alloc&) {
    return kExitOutOfMemory;
  } catch (const std::exception& error) {
    return Complain(error.what());
  }
}

}  // namespace msc::cost
