#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/runtime/executable.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc::cost {

/// How a candidate is to be run.
struct BuildOptions {
  int threads = 1;
  std::int64_t batch = 1;  ///< samples a call, where the model lets one choose
};

/// A candidate ready to run on samples.
struct BuiltCandidate {
  Executable executable;
  std::int64_t batch = 1;         ///< samples that one call takes
  std::int64_t weight_bytes = 0;  ///< of the constants of the compressed and lowered graph
};

/// Applies, lowers and builds. A Failure where a target does not take it; UserError where the
/// strategy does not fit the graph, or the graph has no input.
[[nodiscard]] Result<BuiltCandidate> BuildCandidate(const Graph& canonical,
                                                    const Strategy& strategy,
                                                    const TargetRegistry& targets,
                                                    const BuildOptions& options);

/// Samples from `first` on, as many as are there up to `batch`, and the last of them again until
/// there are that many.
[[nodiscard]] Tensor TakeBatch(const Tensor& samples, std::int64_t first, std::int64_t batch);

enum class BatchVerdict : unsigned char { kGoOn, kStop };

/// Outputs of `outputs.front().dims()[0]` samples from `first` on.
using OnBatch = std::function<BatchVerdict(std::int64_t first, std::span<const Tensor> outputs)>;

/// Runs all samples, [N, ...] of each input, batch by batch; the last is filled up with the last
/// sample, and what comes of the filling is cut off. UserError where samples do not fit the model,
/// or an output does not have a batch outermost.
void ForEachBatch(BuiltCandidate& candidate, std::span<const Tensor> samples,
                  const OnBatch& on_batch);

}  // namespace msc::cost
