#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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

/// Where and by what a LocalEvaluator measures.
struct LocalOptions {
  std::string folder;  ///< prepared, see folder.h
  /// Start of the command line of a measuring child; the path of the request follows.
  std::vector<std::string> child;        ///< {"/path/of/mscgym", "measure-child"}
  std::vector<int> quality_cores;        ///< quality children are bound to these; empty = any
  std::vector<int> latency_cores;        ///< latency children likewise; held exclusively
  std::string lock_folder = "/tmp";      ///< the same for all who share the machine
  std::string scratch = "/tmp";          ///< for request files, which do not stay
  std::vector<std::string> environment;  ///< "NAME=value", added to what a child gets
  std::int64_t memory_mb = 0;  ///< of a child where the settings leave it open; 0 = unlimited
};

/// Which samples a candidate is judged on in the end.
struct JudgedSamples {
  std::int64_t first = 0;  ///< number of the first; the rest follows
  std::int64_t fresh = 0;  ///< from this number on they are also told apart; 0 = none are
};

/// Wall clock that a child gets for a request: as a whole, and without doing anything. Both are at
/// least ten times what the uncompressed model took to be built and to run on as many samples, or
/// to be timed as often, when the folder was prepared. Beyond that, what timing is planned to take,
/// and a patience that suits children that build kernels of a candidate that no cache knows. A
/// child that only sleeps gets no more than ten times, or some seconds.
struct TimeLimits {
  std::chrono::milliseconds whole{0};
  std::chrono::milliseconds idle{0};
};
[[nodiscard]] TimeLimits ChildTimeLimits(const ChildRequest& request, const PreparedFolder& folder);

/// Measures candidates on this machine, each in children of its own: no code made for a candidate
/// ever runs in this process.
///
/// Where samples are to decide something, a child that fits the candidate to them; then a quality
/// child, which for what is measured fully looks at more samples than the settings begin with while
/// these leave open whether the limits are kept; then, where time is wanted and the candidate is
/// sound, a latency child, which holds its cores exclusively: at most one per core on this machine,
/// across processes that agree on `lock_folder`, and no quality child beside it on the same cores.
/// Where energy is measured it holds all cores of the machine, against other workers, too.
///
/// A child that was killed or stopped from outside is tried again, up to kMostTries times in all
/// and more slowly each time; what is left then is a Failure kLost. Other failures are not
/// tried again. How long a child may take follows from what the uncompressed model took when the
/// folder was prepared (ChildTimeLimits). Several evaluators may work in one process at a time; one
/// is for one thread at a time.
class LocalEvaluator final : public Evaluator {
 public:
  /// UserError if the folder is not a prepared one.
  explicit LocalEvaluator(LocalOptions options);

  [[nodiscard]] const PreparedFolder& folder() const noexcept { return folder_; }

  /// The strategy with what samples decide, where it leaves something to them (FitStrategy), its
  /// weights read; as it is where not, but for weights that were made before, which are read from
  /// the prepared folder (WeightsPath; UserError if they are not there). Nothing if stopped.
  [[nodiscard]] std::optional<Result<Strategy>> Fit(const Strategy& strategy,
                                                    const std::function<bool()>& stop = {});

  /// Quality of one that is fitted already on all those samples, and by the same outputs on the
  /// fresh of them; no latency. Nothing if stopped. UserError where there is no such sample.
  [[nodiscard]] std::optional<Result<Outcome>> Judge(const Strategy& strategy,
                                                     const JudgedSamples& samples,
                                                     const std::function<bool()>& stop = {});

  /// Times strategies under the same conditions: interleaved in one child, three times over. They
  /// are fitted already. Outcomes in order, their quality empty; none if stopped.
  [[nodiscard]] std::vector<Result<Outcome>> TimeTogether(std::vector<Strategy> strategies,
                                                          const std::function<bool()>& stop = {});

  /// Likewise, once, and in 1 / `part` of the rounds and of the time; `part` is 1 to 1000.
  [[nodiscard]] std::vector<Result<Outcome>> TimeOnce(std::vector<Strategy> strategies,
                                                      std::int64_t part,
                                                      const std::function<bool()>& stop = {});

  /// Step times of the uncompressed model and of each strategy, `runs` of them. Empty if stopped.
  [[nodiscard]] Result<std::vector<Profile>> ProfileSteps(std::span<const Strategy> strategies,
                                                          std::int64_t runs,
                                                          const std::function<bool()>& stop = {});

 private:
  using Stop = std::function<bool()>;
  void DoEvaluate(std::span<const Candidate> batch, const Done& done, const Stop& stop) override;
  [[nodiscard]] std::optional<Result<Outcome>> EvaluateOne(const Candidate& candidate,
                                                           const Stop& stop);
  /// nullopt if stopped. UserError if the child says that the request makes no sense.
  [[nodiscard]] std::optional<Result<ChildAnswer>> Ask(const ChildRequest& request,
                                                       const Stop& stop);
  /// Likewise, by one child.
  [[nodiscard]] std::optional<Result<ChildAnswer>> AskOnce(const ChildRequest& request,
                                                           const Stop& stop);
  [[nodiscard]] ChildCommand CommandFor(const ChildRequest& request, const std::string& path) const;
  /// `request` says which samples.
  [[nodiscard]] std::optional<Result<Outcome>> AskQuality(const Strategy& strategy,
                                                          ChildRequest request, const Stop& stop);
  [[nodiscard]] std::optional<std::vector<Result<Outcome>>> AskLatency(
      std::vector<Strategy> strategies, std::int64_t repeats, std::int64_t part, const Stop& stop);

  LocalOptions options_;
  PreparedFolder folder_;
};

}  // namespace msc::cost
