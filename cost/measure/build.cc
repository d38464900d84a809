#include "cost/measure/build.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/parallel.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/export_onnx.h"

namespace msc::cost {
namespace {

void CheckBatch(const Tensor& output, std::size_t index, std::int64_t batch) {
  if (!output.dims().empty() && output.dims()[0] == batch) return;
  throw UserError("output " + std::to_string(index) + " has " +
                  (output.dims().empty() ? "no axis" : std::to_string(output.dims()[0]) + " rows") +
                  " for " + std::to_string(batch) +
                  " samples; name its axis of samples with --batch-axis (in a config, "
                  "'batch_axis'), or none");
}

}  // namespace

Tensor TakeBatch(const Tensor& samples, std::int64_t first, std::int64_t batch) {
  const std::int64_t count = std::min(batch, samples.dims()[0] - first);
  Tensor rows = Rows(samples, first, count);
  if (count == batch) return rows;
  Dims dims = rows.dims();
  dims[0] = batch;
  Tensor filled(rows.dtype(), std::move(dims));
  const std::size_t row = rows.bytes() / static_cast<std::size_t>(count);
  // The last sample fills up the batch; the outputs of its copies are cut off.
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto from = static_cast<std::size_t>(std::min(i, count - 1));
    std::memcpy(filled.MutableRaw().data() + static_cast<std::size_t>(i) * row,
                rows.Raw().data() + from * row, row);
  }
  return filled;
}

Result<BuiltCandidate> BuildCandidate(const Graph& canonical, const Strategy& strategy,
                                      const TargetRegistry& targets, const BuildOptions& options) {
  const std::int64_t batch = BatchSize(canonical, options.batch);
  const CompileOptions compile{options.threads, BatchBindings(canonical, batch)};
  const Graph applied = options.reader.empty()
                            ? ApplyStrategy(canonical, strategy)
                            : ModelForReader(canonical, strategy, FindReader(options.reader)).graph;
  const Lowered lowered = LowerFor(applied, strategy, targets, compile);
  auto executable = BuildExecutable(lowered, targets, compile);
  if (!executable.ok()) return executable.failure();
  return BuiltCandidate{std::move(executable).value(), batch,
                        CountContents(lowered.graph).weight_bytes, LayoutOf(canonical)};
}

int CallsAtOnce(int threads) {
  constexpr int kMost = 8;
  return std::clamp(CoreCount() / std::max(threads, 1), 1, kMost);
}

void ForEachBatch(const BuiltCandidate& candidate, std::span<const Tensor> samples, int calls,
                  const OnBatch& on_batch) {
  if (samples.empty()) throw UserError("there are no samples for the model");
  const std::int64_t total = samples[0].dims().at(0);
  const auto run = [&](std::int64_t first) {
    std::vector<Tensor> batch;
    for (const Tensor& input : samples) batch.push_back(TakeBatch(input, first, candidate.batch));
    batch = InputsOfRows(candidate.layout, std::move(batch));
    std::vector<Tensor> rows = RowsOfOutputs(candidate.layout, candidate.executable.Run(batch));
    for (std::size_t i = 0; i < rows.size(); ++i) CheckBatch(rows[i], i, candidate.batch);
    const std::int64_t count = std::min(candidate.batch, total - first);
    if (count < candidate.batch) {
      for (Tensor& row : rows) row = Rows(row, 0, count);
    }
    return rows;
  };
  const auto at_once = static_cast<std::int64_t>(std::max(calls, 1));
  for (std::int64_t first = 0; first < total;) {
    const std::int64_t rest = (total - first + candidate.batch - 1) / candidate.batch;
    std::vector<std::vector<Tensor>> outputs(static_cast<std::size_t>(std::min(at_once, rest)));
    ForEachOnThreads(calls, outputs.size(), [&](std::size_t i) {
      outputs[i] = run(first + static_cast<std::int64_t>(i) * candidate.batch);
    });
    for (const std::vector<Tensor>& rows : outputs) {
      if (on_batch(first, rows) == BatchVerdict::kStop) return;
      first += candidate.batch;
    }
  }
}

}  // namespace msc::cost
