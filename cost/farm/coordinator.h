#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cost/farm/dispatcher.h"
#include "cost/farm/options.h"
#include "cost/farm/transport/transport.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// How a farm ended, and so how its processes must end.
enum class FarmEnd : unsigned char {
  kClean,      ///< nobody was lost: MPI_Finalize works
  kAfterLoss,  ///< it would wait for the lost for ever: LeaveAfterLoss
};

/// Where a worker finds blobs, below the run folder.
[[nodiscard]] std::string BlobFolderOf(const std::string& run_folder);

/// Rank 0 of a farm: hands candidates, one at a time, to whichever worker is free. See Dispatcher
/// for what happens when workers die, and docs/farm.md.
///
/// A service thread keeps the farm alive from construction on, whatever the caller does meanwhile;
/// it alone uses the transport. Evaluate is for one thread at a time. It throws the UserError or
/// InternalError that a worker's evaluator threw; SystemError when a candidate met one on every
/// attempt, when no worker is left, or when the transport fails.
class FarmEvaluator final : public Evaluator {
 public:
  /// `transport` is rank 0 of at least two; it is lent until Finish. UserError for bad options.
  FarmEvaluator(Transport& transport, const FarmOptions& options);
  /// Finishes.
  ~FarmEvaluator() override;

  /// Lets the workers make their evaluators for what was prepared in `run_folder`, a folder that
  /// all of them can see, of at most kMaxText bytes. To be called once, before Evaluate.
  void Open(const std::string& run_folder);
  /// From now on `watch` hears of every attempt that is over, in this order, from the thread that
  /// is in Evaluate; of one that ends later, such as a cancelled one, in the next call if there is
  /// one. Not during Evaluate. What it throws ends Evaluate.
  void Watch(std::function<void(const Attempt&)> watch);
  /// Stops the workers and the service thread; waits for them for stop_seconds at most. The second
  /// call returns what the first one did.
  FarmEnd Finish();
  [[nodiscard]] FarmStats stats() const;

 private:
  struct State;
  class Call;
  void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override;
  /// Workers that are not lost.
  [[nodiscard]] std::size_t DoParallelism() const override;

  std::unique_ptr<State> state_;
};

}  // namespace msc::cost
