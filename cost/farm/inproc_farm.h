#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cost/farm/coordinator.h"
#include "cost/farm/options.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// A farm whose workers are threads of this process: the same protocol without mpirun.
class InprocFarm final : public Evaluator {
 public:
  /// Starts `workers` >= 1 threads. `make_evaluator` is called once on each, possibly at the same
  /// time, with `run_folder`.
  InprocFarm(int workers, const FarmOptions& options, const std::string& run_folder,
             const std::function<std::unique_ptr<Evaluator>(const std::string&)>& make_evaluator);
  /// Stops; waits for evaluations to end.
  ~InprocFarm() override;

  /// As FarmEvaluator::Watch.
  void Watch(std::function<void(const Attempt&)> watch);
  [[nodiscard]] FarmStats stats() const;

 private:
  struct State;
  void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override;
  [[nodiscard]] std::size_t DoParallelism() const override;

  std::unique_ptr<State> state_;
};

}  // namespace msc::cost
