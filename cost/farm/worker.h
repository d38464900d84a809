#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cost/farm/options.h"
#include "cost/farm/transport/transport.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// Everything that a worker needs besides its transport.
struct WorkerSetup {
  FarmOptions options = {};
  /// Builds the evaluator for a run folder that the coordinator prepared. Called once, on the
  /// thread that evaluates all tasks. That thread lives as long as the worker, so child processes
  /// that die with their parent thread (PR_SET_PDEATHSIG) survive between tasks.
  std::function<std::unique_ptr<Evaluator>(const std::string& run_folder)> make_evaluator;
  /// Called if an evaluation does not end within stop_seconds after it was told to. A worker that
  /// is a process can leave by _exit here. Without this callback RunWorker continues to wait.
  std::function<void()> abandon;
};

enum class WorkerEnd : unsigned char {
  kClean,            ///< told to leave and no rank was lost: call MPI_Finalize
  kAfterLoss,        ///< told to leave after a loss: call LeaveAfterLoss
  kCoordinatorLost,  ///< the coordinator was silent for its lease: exit with 76
};

/// Runs a rank of 1 or above of a farm: evaluates one candidate at a time and sends signs of life
/// meanwhile. Exceptions of an evaluation are reported to the coordinator and not thrown. Uses the
/// transport only on the calling thread. SystemError if the transport fails.
[[nodiscard]] WorkerEnd RunWorker(Transport& transport, const WorkerSetup& setup);

}  // namespace msc::cost
