#include "cost/farm/inproc_farm.h"

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "cost/farm/transport/inproc/inproc.h"
#include "cost/farm/worker.h"

namespace msc::cost {

struct InprocFarm::State {
  State(int workers, const FarmOptions& options) : hub(workers + 1), transport(hub.Endpoint(0)) {
    evaluator.emplace(*transport, options);
  }

  InprocHub hub;
  std::unique_ptr<Transport> transport;
  std::optional<FarmEvaluator> evaluator;
  std::vector<std::jthread> threads;
};

InprocFarm::InprocFarm(
    int workers, const FarmOptions& options, const std::string& run_folder,
    const std::function<std::unique_ptr<Evaluator>(const std::string&)>& make_evaluator) {
  Check(workers >= 1, "a farm has a worker");
  state_ = std::make_unique<State>(workers, options);
  state_->evaluator->Open(run_folder);
  for (int rank = 1; rank <= workers; ++rank) {
    state_->threads.emplace_back(
        [setup = WorkerSetup{options, make_evaluator, {}}, endpoint = state_->hub.Endpoint(rank)] {
          // The result does not matter, because the process continues in every case.
          (void)RunWorker(*endpoint, setup);
        });
  }
}

InprocFarm::~InprocFarm() {
  state_->evaluator->Finish();
}

void InprocFarm::Watch(std::function<void(const Attempt&)> watch) {
  state_->evaluator->Watch(std::move(watch));
}

FarmStats InprocFarm::stats() const {
  return state_->evaluator->stats();
}

void InprocFarm::DoEvaluate(std::span<const Candidate> batch, const Done& done,
                            const std::function<bool()>& stop) {
  state_->evaluator->Evaluate(batch, done, stop);
}

std::size_t InprocFarm::DoParallelism() const {
  return state_->evaluator->parallelism();
}

}  // namespace msc::cost
