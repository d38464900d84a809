#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/targets/target.h"

namespace msc {

/// How a graph is run over samples to see its values.
struct CalibrationRun {
  std::string target = "reference";  ///< who computes the values, in f32
  int threads = 1;
  std::int64_t batch = 32;  ///< at most so many samples at a time
};

using BatchVisitor = std::function<void(std::int64_t first, std::span<const Tensor> values)>;

/// Runs the part of a canonical graph that the named values need over `samples` and shows these
/// values batch by batch, in the order of `values`, with the number of the batch's first sample.
/// Graph inputs may be among them. All samples are seen: batches are of equal size where EvenBatch
/// finds one, else the last is smaller, for which the part is compiled again. Only where the model
/// fixes its batch are last samples that do not fill one left out. Each batch is read once, in
/// order, and let go before the next: what it takes of memory does not depend on the number of
/// samples. `progress` hears the share done, in [0, 1].
/// UserError where the samples do not fit the model or one is not finite, which may be after
/// batches were shown.
void ObserveValues(const Graph& canonical, std::span<const std::string> values,
                   const SampleSource& samples, const CalibrationRun& run,
                   const TargetRegistry& registry, const BatchVisitor& visit,
                   const std::function<void(double)>& progress = {});

}  // namespace msc
