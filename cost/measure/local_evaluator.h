#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/measure/child.h"
#include "cost/measure/child_protocol.h"
#include "cost/measure/core_lock.h"
#include "cost/measure/folder.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// Where and how a LocalEvaluator measures.
struct LocalOptions {
  std::string folder;  ///< prepared folder, see folder.h
  /// Start of the command line of a child that measures; the path of the request is appended.
  std::vector<std::string> child;        ///< {"/path/of/mscgym", "measure-child"}
  std::vector<int> quality_cores;        ///< quality children are bound to these; empty = any
  std::vector<int> latency_cores;        ///< latency children are bound to these, exclusively
  std::string lock_folder = "/tmp";      ///< must be the same for all processes on the machine
  std::string scratch = "/tmp";          ///< for request files, which are removed after use
  std::vector<std::string> environment;  ///< "NAME=value", added to the environment of a child
  /// Memory limit of a child if the settings leave it open; 0 = unlimited.
  std::int64_t memory_mb = 0;
  /// Folder that keeps fitted strategies, up to 2 GiB, so that each is fitted once; empty = none.
  std::string fits = {};
  std::vector<std::string> metric_environment = {};  ///< see MetricHost
  MetricFunctions metric_functions = {};
};

/// Samples for a final evaluation of a candidate.
struct JudgedSamples {
  std::int64_t first = 0;  ///< number of the first one; all following are used
  /// Samples from this number on are held out and also judged separately; 0 = none.
  std::int64_t held_out = 0;
};

/// Wall-clock limits of a child: for the whole request, and for time in which all its threads
/// sleep.
///
/// Both follow from the time that the uncompressed model took, when the folder was prepared, to be
/// built and to run as often as the request needs. `idle` is ten times that time, and at least 3 s.
/// `whole` is the longer of ten times that time and the patience of the settings, plus the time
/// that timing is planned to take. The patience allows for kernels that no cache holds yet. A fit
/// that trains gets the longer of the two once more for each epoch.
struct TimeLimits {
  std::chrono::milliseconds whole{0};
  std::chrono::milliseconds idle{0};
};
[[nodiscard]] TimeLimits ChildTimeLimits(const ChildRequest& request, const PreparedFolder& folder);

/// Measures candidates on this machine in child processes: no code of a candidate ever runs in this
/// process.
///
/// A candidate passes up to three children. If samples decide part of the strategy, a fit child
/// fits it. A quality child then compares its outputs. In a full measurement it doubles the number
/// of samples, up to a limit, while the quality limits are undecided. If latency is requested and
/// the candidate is sound, a latency child times it. That child holds its cores exclusively,
/// against all processes that use the same `lock_folder`; no other latency child and no quality
/// child runs on them. If energy is measured, it holds all cores of the machine.
///
/// Users' metrics run after a quality child, on the outputs that it wrote, and with its cores.
/// While their limits are undecided, a full measurement runs the child again with more samples. A
/// metric that fails is a failure of the candidate.
///
/// A child that another process killed or stopped is tried again, up to kMaxTries times in all and
/// after longer and longer pauses; then the result is a Failure kLost. Other failures are not tried
/// again. Several evaluators may work in one process at a time; each is for one thread at a time.
class LocalEvaluator final : public Evaluator {
 public:
  /// UserError if the folder is not a prepared one.
  explicit LocalEvaluator(LocalOptions options);

  [[nodiscard]] const PreparedFolder& folder() const noexcept { return folder_; }

  /// Returns the strategy with everything that samples decide (FitStrategy), and with its weights
  /// read. A strategy that needs no fit is returned unchanged. If its weights were fitted before,
  /// they are read from the prepared folder (WeightsPath; UserError if they are missing). What was
  /// fitted before is read from the folder of fits. Returns nothing if stopped.
  [[nodiscard]] std::optional<Result<Strategy>> Fit(const Strategy& strategy,
                                                    const std::function<bool()>& stop = {});

  /// Returns the quality of a fitted strategy on all these samples and, from the same outputs, on
  /// the held-out ones; no latency. Returns nothing if stopped. UserError if there are no such
  /// samples.
  [[nodiscard]] std::optional<Result<Outcome>> Judge(const Strategy& strategy,
                                                     const JudgedSamples& samples,
                                                     const std::function<bool()>& stop = {});

  /// Returns the samples, from number `first` on, whose outputs a fitted strategy changes most
  /// (changed_samples.h): at most 8, measured by `loss`. Empty if stopped.
  [[nodiscard]] Result<std::vector<ChangedSample>> FindChanged(
      const Strategy& strategy, std::int64_t first, const std::string& loss,
      const std::function<bool()>& stop = {});

  /// Times fitted strategies under the same conditions: interleaved in one child, three times.
  /// Returns outcomes in order, with empty quality; no outcomes if stopped.
  [[nodiscard]] std::vector<Result<Outcome>> TimeTogether(std::vector<Strategy> strategies,
                                                          const std::function<bool()>& stop = {});

  /// Does the same once, with 1 / `part` of the rounds and of the time; `part` is 1 to 1000.
  [[nodiscard]] std::vector<Result<Outcome>> TimeOnce(std::vector<Strategy> strategies,
                                                      std::int64_t part,
                                                      const std::function<bool()>& stop = {});

  /// Times the model of a fitted strategy as it is exported for the runtime of a target
  /// (ModelForReader), on that target alone, once. `target` is a spec whose name is that of a
  /// reader. Returns an outcome without quality; a Failure also if the model cannot be exported;
  /// nothing if stopped.
  [[nodiscard]] std::optional<Result<Outcome>> TimeExported(Strategy strategy,
                                                            const std::string& target,
                                                            const std::function<bool()>& stop = {});

  /// Returns step times of the uncompressed model and of each strategy, as medians over `runs`
  /// runs. Empty if stopped.
  [[nodiscard]] Result<std::vector<Profile>> ProfileSteps(std::span<const Strategy> strategies,
                                                          std::int64_t runs,
                                                          const std::function<bool()>& stop = {});

 private:
  using Stop = std::function<bool()>;
  /// Returns where a fitted strategy is kept; empty if it is not.
  [[nodiscard]] std::string KeptPath(const Strategy& strategy) const;
  void Keep(const Strategy& fitted, const std::string& path) const;
  void DoEvaluate(std::span<const Candidate> batch, const Done& done, const Stop& stop) override;
  [[nodiscard]] std::optional<Result<Outcome>> EvaluateOne(const Candidate& candidate,
                                                           const Stop& stop);
  /// Asks a child, and again if it was interrupted. Returns nothing if stopped. UserError if the
  /// child rejects the request.
  [[nodiscard]] std::optional<Result<ChildAnswer>> Ask(const ChildRequest& request,
                                                       const Stop& stop);
  /// The same with a single child.
  [[nodiscard]] std::optional<Result<ChildAnswer>> AskOnce(const ChildRequest& request,
                                                           const Stop& stop);
  [[nodiscard]] ChildCommand CommandFor(const ChildRequest& request, const std::string& path) const;
  /// `request` says which samples to use.
  [[nodiscard]] std::optional<Result<Outcome>> AskQuality(const Strategy& strategy,
                                                          ChildRequest request, const Stop& stop);
  /// The same without users' metrics.
  [[nodiscard]] std::optional<Result<Outcome>> AskLosses(const ChildRequest& request,
                                                         const Stop& stop);
  /// Adds users' metrics to an outcome, from the outputs that the request's child wrote. Returns
  /// the failure of a metric, if any, and ToldToStop if stopped.
  [[nodiscard]] std::optional<Failure> AddMetrics(const ChildRequest& request, Outcome& outcome,
                                                  const Stop& stop);
  /// `request` says how to time.
  [[nodiscard]] std::optional<std::vector<Result<Outcome>>> AskLatency(
      std::vector<Strategy> strategies, ChildRequest request, const Stop& stop);

  LocalOptions options_;
  PreparedFolder folder_;
  std::unique_ptr<MetricJudge> metrics_;  // nullptr if there are none
};

}  // namespace msc::cost
