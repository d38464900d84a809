#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "compiler/base/result.h"
#include "compiler/strategy/strategy.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// What an evaluation of a candidate measures.
enum class Measure : unsigned char {
  kQuality,            ///< quality and sizes; fast, may run beside other evaluations
  kQualityAndLatency,  ///< also the latency; has the cores to itself
  kRough,              ///< both, with a quarter of the samples and of the time
  kRoughest,           ///< both, with a sixteenth of the samples and of the time
  kProbe,              ///< quality on kProbeSamples samples
};

/// Enough to tell which layers are sensitive, from losses that change before decisions do.
inline constexpr std::int64_t kProbeSamples = 32;

struct Candidate {
  Strategy strategy;
  Measure measure = Measure::kQualityAndLatency;
};

/// Turns candidates into outcomes: on this machine, on a farm, from a cache, or by a model. Takes a
/// batch and reports its results one by one in any order.
class Evaluator {
 public:
  /// Called once for each candidate, with its index in the batch, on the thread that called
  /// Evaluate.
  using Done = std::function<void(std::size_t index, const Result<Outcome>& result)>;

  Evaluator() = default;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  virtual ~Evaluator() = default;

  /// Returns when every candidate was reported, or soon after `stop` (optional) returns true. In
  /// that case the remaining candidates are not reported.
  void Evaluate(std::span<const Candidate> batch, const Done& done,
                const std::function<bool()>& stop = {}) {
    DoEvaluate(batch, done, stop);
  }
  /// Returns how many candidates the evaluator works on at a time (>= 1); larger batches than that
  /// gain no time.
  [[nodiscard]] std::size_t parallelism() const { return DoParallelism(); }

 private:
  virtual void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                          const std::function<bool()>& stop) = 0;
  [[nodiscard]] virtual std::size_t DoParallelism() const { return 1; }
};

}  // namespace msc::cost
