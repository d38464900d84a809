#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cost/farm/options.h"
#include "cost/farm/transport/transport.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// What a worker needs beside its transport.
struct WorkerSetup {
  FarmOptions options;
  /// Builds the evaluator for what the coordinator prepared in a folder. Called once, on the thread
  /// that evaluates all tasks: that thread lives as long as the worker, so that child processes
  /// which die with their parent thread (PR_SET_PDEATHSIG) live on between tasks.
  std::function<std::unique_ptr<Evaluator>(const std::string& run_folder)> make_evaluator;
  /// Called when an evaluation does not end within stop_seconds of being told to; for a process of
  /// its own, to leave by _exit. Without it RunWorker waits on.
  std::function<void()> abandon;
};

enum class WorkerEnd : unsigned char {
  kClean,            ///< told to leave and nobody was lost: MPI_Finalize works
  kAfterLoss,        ///< told to leave after a loss: LeaveAfterLoss
  kCoordinatorLost,  ///< the coordinator was silent for its lease: leave with 76
};

/// Rank 1 and up of a farm: evaluates one candidate at a time while it goes on to say that it
/// lives. What an evaluation throws is reported, not thrown. Uses the transport from this thread
/// only. SystemError if the transport fails.
[[nodiscard]] WorkerEnd RunWorker(Transport& transport, const WorkerSetup& setup);

}  // namespace msc::cost
