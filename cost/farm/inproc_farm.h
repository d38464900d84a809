#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cost/farm/coordinator.h"
#include "cost/farm/options.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// A farm whose workers are threads of this process. It uses the same protocol without mpirun.
class InprocFarm final : public Evaluator {
 public:
  /// Starts `workers` >= 1 threads. Each calls `make_evaluator` once with `run_folder`, possibly at
  /// the same time.
  InprocFarm(int workers, const FarmOptions& options, const std::string& run_folder,
             const std::function<std::unique_ptr<Evaluator>(const std::string&)>& make_evaluator);
  /// Stops the workers and waits for their evaluations to end.
  ~InprocFarm() override;

  /// Like FarmEvaluator::Watch.
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
