// A farm under mpirun: mpi_program RUN_FOLDER COUNT. Rank 0 evaluates COUNT candidates, writes a
// line "INDEX RESULT" to RUN_FOLDER/results for each, and RUN_FOLDER/end when all is over. Every
// rank writes its process number to RUN_FOLDER/pid.RANK when it has started.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include <unistd.h>

#include "compiler/base/file.h"
#include "cost/farm/coordinator.h"
#include "cost/farm/transport/mpi/mpi_transport.h"
#include "cost/farm/worker.h"
#include "tests/farm/support.h"

namespace msc::cost {
namespace {

FarmOptions Options() {
  FarmOptions options;
  options.beat_seconds = 0.1;
  options.ping_seconds = 0.1;
  options.worker_lease_seconds = 1.2;
  options.coordinator_lease_seconds = 2.5;
  return options;
}

FarmEnd Coordinate(Transport& transport, const std::string& folder, int count) {
  const auto batch = testing::Candidates(count);
  FarmEvaluator farm(transport, Options());
  farm.Open(folder);
  std::ofstream results(folder + "/results");
  farm.Evaluate(batch, [&](std::size_t index, const Result<Outcome>& result) {
    results << index << ' ' << ToJson(result) << std::endl;
  });
  const FarmEnd end = farm.Finish();
  const FarmStats stats = farm.stats();
  WriteFileAtomic(folder + "/end", (end == FarmEnd::kClean ? "clean" : "after_loss") +
                                       (" lost_workers " + std::to_string(stats.lost_workers)));
  return end;
}

WorkerEnd Work(Transport& transport) {
  WorkerSetup setup;
  setup.options = Options();
  setup.make_evaluator = [](const std::string&) {
    return std::make_unique<testing::FakeEvaluator>([](const Candidate& candidate, const auto&) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
      return testing::Truth(candidate);
    });
  };
  setup.abandon = [] { LeaveAfterLoss(76); };
  return RunWorker(transport, setup);
}

int Run(const std::string& folder, int count) {
  auto transport = ConnectMpi();
  const int rank = transport->rank();
  WriteFileAtomic(folder + "/pid." + std::to_string(rank), std::to_string(::getpid()));
  if (rank == 0) {
    if (Coordinate(*transport, folder, count) == FarmEnd::kAfterLoss) LeaveAfterLoss(0);
  } else {
    const WorkerEnd end = Work(*transport);
    if (end == WorkerEnd::kAfterLoss) LeaveAfterLoss(0);
    if (end == WorkerEnd::kCoordinatorLost) LeaveAfterLoss(76);
  }
  FinalizeMpi(std::move(transport));
  return 0;
}

}  // namespace
}  // namespace msc::cost

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return msc::cost::Run(argv[1], std::atoi(argv[2]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    msc::cost::LeaveAfterLoss(1);
  }
}
