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

/// How a farm ended, which decides how its processes must end.
enum class FarmEnd : unsigned char {
  kClean,  ///< no rank was lost: call MPI_Finalize
  /// A rank was lost, and MPI_Finalize would wait for it forever: call LeaveAfterLoss.
  kAfterLoss,
};

/// Returns the folder of blobs inside a run folder.
[[nodiscard]] std::string BlobFolderOf(const std::string& run_folder);

/// Rank 0 of a farm: hands candidates, one at a time, to free workers. Dispatcher describes what
/// happens when workers die; see also docs/farm.md.
///
/// A service thread keeps the farm alive from construction to Finish; only it uses the transport.
/// Only one thread at a time may call Evaluate. Evaluate throws the UserError or InternalError that
/// a worker's evaluator threw, and SystemError if every attempt at a candidate met one, if no
/// worker is left, or if the transport fails.
class FarmEvaluator final : public Evaluator {
 public:
  /// `transport` is rank 0 of at least two ranks and must not be used by others until Finish.
  /// UserError for bad options.
  FarmEvaluator(Transport& transport, const FarmOptions& options);
  /// Calls Finish.
  ~FarmEvaluator() override;

  /// Tells the workers to make their evaluators for `run_folder`, a folder that all ranks can see,
  /// with a path of at most kMaxText bytes (else UserError). Must be called once, before Evaluate.
  void Open(const std::string& run_folder);
  /// Sets a callback for attempts that ended. Evaluate passes them to `watch` in the order in which
  /// they ended, on its own thread. An attempt that ends later, such as a cancelled one, is passed
  /// by the next Evaluate, if any. Exceptions of `watch` end Evaluate. Must not be called during
  /// Evaluate.
  void Watch(std::function<void(const Attempt&)> watch);
  /// Stops the workers and the service thread; waits for the workers for at most stop_seconds.
  /// Later calls return the result of the first one.
  FarmEnd Finish();
  [[nodiscard]] FarmStats stats() const;

 private:
  struct State;
  class Call;
  void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override;
  /// Returns the number of workers that are not lost, at least 1.
  [[nodiscard]] std::size_t DoParallelism() const override;

  std::unique_ptr<State> state_;
};

}  // namespace msc::cost
