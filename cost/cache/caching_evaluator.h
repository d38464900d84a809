#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cost/cache/store.h"
#include "cost/model/evaluator.h"

namespace msc::cost {

/// Everything besides the strategy that an outcome depends on; `memory` decides only whether there
/// is one.
struct CacheContext {
  std::string graph_hash;    ///< of the canonical graph
  std::string samples_hash;  ///< of evaluation inputs and labels
  std::string cpu;           ///< CpuFingerprint
  std::string settings;      ///< canonical JSON of the evaluation settings
  std::string program;       ///< version of this program: its kernels change outcomes too
  std::map<std::string, std::string> targets;  ///< version by target name
  std::string memory = {};                     ///< limit of a measuring child's
};

/// The context, without `memory`, as one key for each candidate. InternalError if the strategy's
/// target is not in `context.targets`.
[[nodiscard]] std::string CacheKey(const CacheContext& context, const Candidate& candidate);
/// Likewise with `memory`: of what does not hold under another limit.
[[nodiscard]] std::string MemoryKey(const CacheContext& context, const Candidate& candidate);

/// Whether trying again, under the same limit of memory, would give the same: an outcome, or one of
/// the failures that are stored.
[[nodiscard]] bool IsLasting(const Result<Outcome>& result);
/// Whether more memory would have given something else.
[[nodiscard]] bool RanOutOfMemory(const Result<Outcome>& result);

/// Answers from a store what was measured before, and asks `inner` for the rest.
///
/// Equal candidates of one batch are asked once. A request for quality alone is also answered by an
/// outcome with latency, without its latency. Stored are outcomes, and those failures that would
/// come again: unsupported, compile, wrong output, and for those who give children the same limit
/// out of memory; not timeout, crash or lost. A damaged entry is measured again and
/// replaced, with a warning; an entry that cannot be written costs a warning only.
class CachingEvaluator final : public Evaluator {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// `inner` outlives this. `warn`, where given, hears one line for each thing amiss.
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
