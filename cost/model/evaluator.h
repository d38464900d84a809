#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "compiler/base/result.h"
#include "compiler/strategy/strategy.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// What is to be found out about a candidate.
enum class Measure : unsigned char {
  kQuality,            ///< closeness and sizes; fast, may run beside others
  kQualityAndLatency,  ///< also time; takes the cores for itself
  kRough,              ///< both, on a quarter of the samples and in a quarter of the time
  kRoughest,           ///< both, on a sixteenth of the samples and in a sixteenth of the time
};

struct Candidate {
  Strategy strategy;
  Measure measure = Measure::kQualityAndLatency;
};

/// Turns candidates into outcomes: on this machine, on a farm, from a cache, by a model. Batch in,
/// results one by one in whatever order they come.
class Evaluator {
 public:
  /// Called once per candidate, with its index in the batch, from the thread that called Evaluate.
  using Done = std::function<void(std::size_t index, const Result<Outcome>& result)>;

  Evaluator() = default;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  virtual ~Evaluator() = default;

  /// Returns when every candidate was reported, or soon after `stop` (where given) says true; then
  /// the unreported ones are dropped.
  void Evaluate(std::span<const Candidate> batch, const Done& done,
                const std::function<bool()>& stop = {}) {
    DoEvaluate(batch, done, stop);
  }
  /// Candidates that it works on at one time: how large a batch is worth handing in. >= 1.
  [[nodiscard]] std::size_t parallelism() const { return DoParallelism(); }

 private:
  virtual void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                          const std::function<bool()>& stop) = 0;
  [[nodiscard]] virtual std::size_t DoParallelism() const { return 1; }
};

}  // namespace msc::cost
