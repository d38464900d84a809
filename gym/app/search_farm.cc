#include "gym/app/search_farm.h"

#include <cstdio>
#include <exception>

#include "compiler/base/error.h"
#include "cost/farm/segments.h"
#include "cost/farm/worker.h"
#include "gym/search/measuring.h"
#ifdef MSC_WITH_MPI
#include "cost/farm/transport/mpi/mpi_transport.h"
#endif

namespace msc::gym {
namespace {

#ifdef MSC_WITH_MPI

constexpr int kExitLostCoordinator = 76;

/// Runs a rank that is not the coordinator.
int Work(const AppContext& context, std::unique_ptr<cost::Transport> transport) {
  const WorkerPlace worker{
      .number = transport->rank() - 1,
      .of = context.ranks_here > 0 ? context.ranks_here : transport->size() - 1};
  const cost::WorkerSetup setup{
      .make_evaluator =
          [&](const std::string& run) {
            return std::make_unique<cost::LocalEvaluator>(LocalFor(context.self, run, worker));
          },
      .abandon = [] { cost::LeaveAfterLoss(kExitLostCoordinator); }};
  switch (cost::RunWorker(*transport, setup)) {
    case cost::WorkerEnd::kClean:
      cost::FinalizeMpi(std::move(transport));
      return kExitOk;
    case cost::WorkerEnd::kAfterLoss:
      cost::LeaveAfterLoss(kExitOk);
    case cost::WorkerEnd::kCoordinatorLost:
      cost::LeaveAfterLoss(kExitLostCoordinator);
  }
  return kExitFailure;
}

/// Runs the coordinator of an MPI farm and ends its process as the state of the farm requires.
int CoordinateRanks(std::unique_ptr<cost::Transport> transport,
                    const std::function<int(cost::FarmEvaluator* farm)>& coordinate) {
  if (transport->size() == 1) {
    const int code = coordinate(nullptr);
    cost::FinalizeMpi(std::move(transport));
    return code;
  }
  // From here on, a thread of the farm sends the workers signs of life of rank 0, so that a long
  // preparation does not look like a failure.
  cost::FarmEvaluator farm(*transport, cost::FarmOptions{});
  int code = kExitFailure;
  try {
    code = coordinate(&farm);
  } catch (const UserError& error) {
    std::fprintf(stderr, "mscgym: %s\n", error.what());
    code = kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mscgym: %s\n", error.what());
  }
  if (farm.Finish() == cost::FarmEnd::kAfterLoss) cost::LeaveAfterLoss(code);
  cost::FinalizeMpi(std::move(transport));
  return code;
}

#endif

}  // namespace

int RunCoordinatorOrWorker(const AppContext& context,
                           const std::function<int(cost::FarmEvaluator* farm)>& coordinate) {
  (void)cost::SweepSegments();  // left by killed searches, whether they ran under MPI or not
  if (!context.under_mpi) return coordinate(nullptr);
#ifdef MSC_WITH_MPI
  std::unique_ptr<cost::Transport> transport = cost::ConnectMpi();
  if (transport->rank() > 0) return Work(context, std::move(transport));
  return CoordinateRanks(std::move(transport), coordinate);
#else
  throw UserError("this build has no MPI; build with MSC_WITH_MPI=ON, or use --workers");
#endif
}

}  // namespace msc::gym
