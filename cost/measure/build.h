#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ir/tensor.h"
#include "compiler/runtime/executable.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc::cost {

/// How to run a candidate.
struct BuildOptions {
  int threads = 1;
  std::int64_t batch = 1;   ///< samples per call, if the model allows a choice
  std::string reader = {};  ///< gives the model the form of a reader (FindReader); empty = none
};

/// A candidate that is ready to run on samples.
struct BuiltCandidate {
  Executable executable;
  std::int64_t batch = 1;         ///< samples per call
  std::int64_t weight_bytes = 0;  ///< of the constants of the lowered graph
  SampleLayout layout = {};       ///< where inputs and outputs count samples
};

/// Applies the strategy, lowers and builds. Returns a Failure if a target does not support the
/// result; UserError if the strategy does not fit the graph, or the graph has no input.
[[nodiscard]] Result<BuiltCandidate> BuildCandidate(const Graph& canonical,
                                                    const Strategy& strategy,
                                                    const TargetRegistry& targets,
                                                    const BuildOptions& options);

/// Returns up to `batch` samples from `first` on; repeats the last one if there are fewer.
[[nodiscard]] Tensor TakeBatch(const Tensor& samples, std::int64_t first, std::int64_t batch);

enum class BatchVerdict : unsigned char { kGoOn, kStop };

/// Receives the outputs of samples `first` and following, `outputs.front().dims()[0]` of them.
using OnBatch = std::function<BatchVerdict(std::int64_t first, std::span<const Tensor> outputs)>;

/// Returns how many batches may run at once, each on `threads` threads, on the cores that this
/// process may use; at most 8, as each needs an arena.
[[nodiscard]] int CallsAtOnce(int threads);

/// Runs all samples, one [N, ...] per input, batch by batch, and passes on outputs [n, ...], in
/// order. Up to `calls` batches run at once. The last batch is padded with the last sample, and the
/// outputs of the padding are cut off. UserError if samples do not fit the model, or an output does
/// not count them as the layout says.
void ForEachBatch(const BuiltCandidate& candidate, std::span<const Tensor> samples, int calls,
                  const OnBatch& on_batch);

}  // namespace msc::cost
