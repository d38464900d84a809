#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cost/cache/store.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// Everything that an outcome depends on, except the strategy. `memory` does not change an outcome;
/// it decides only whether there is one.
struct CacheContext {
  std::string graph_hash;    ///< of the canonical graph
  std::string samples_hash;  ///< of evaluation inputs and labels
  std::string cpu;           ///< CpuFingerprint
  std::string settings;      ///< canonical JSON of the evaluation settings
  std::string program;       ///< version of this program, since its kernels affect outcomes
  std::map<std::string, std::string> targets;  ///< versions by target name
  std::string memory = {};                     ///< memory limit of a child that measures, in MiB
};

/// Returns the key of a candidate: a hash of the strategy, the measure and the context without
/// `memory`. InternalError if a target of the strategy is not in `context.targets`.
[[nodiscard]] std::string CacheKey(const CacheContext& context, const Candidate& candidate);
/// Returns the key of a result that holds only under the same memory limit: CacheKey with `memory`.
[[nodiscard]] std::string MemoryKey(const CacheContext& context, const Candidate& candidate);

/// Returns whether a result is repeatable under the same memory limit: an outcome, or a failure
/// that would occur again. Only such results are stored.
[[nodiscard]] bool IsLasting(const Result<Outcome>& result);
/// Returns whether the result is out_of_memory, so that a higher memory limit could change it.
[[nodiscard]] bool RanOutOfMemory(const Result<Outcome>& result);

/// Returns cached results from a store, and asks `inner` for the others.
///
/// Equal candidates of one batch are passed to `inner` once. A request for quality alone is also
/// answered by a cached outcome with latency, without that latency. The store gets outcomes and the
/// repeatable failures unsupported, compile, wrong_output and out_of_memory (the last one under
/// MemoryKey); it never gets timeout, crash or lost. A damaged entry causes a warning and is
/// measured again and replaced. An entry that cannot be written only causes a warning.
class CachingEvaluator final : public Evaluator {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// `inner` must outlive this evaluator. `warn` (optional) receives one line for each problem.
  CachingEvaluator(Evaluator& inner, const std::string& folder, CacheContext context,
                   Warn warn = {});

  struct Counts {
    std::int64_t hits = 0;
    std::int64_t misses = 0;
    std::int64_t damaged = 0;
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override;
  [[nodiscard]] std::size_t DoParallelism() const override { return inner_.parallelism(); }
  [[nodiscard]] std::optional<Result<Outcome>> Find(const Candidate& candidate);
  [[nodiscard]] std::optional<Result<Outcome>> Read(const std::string& key);
  void Store(const Candidate& candidate, const Result<Outcome>& result);

  Evaluator& inner_;
  OutcomeStore store_;
  CacheContext context_;
  Warn warn_;
  Counts counts_;
};

}  // namespace msc::cost
