#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/targets/target.h"

namespace msc {

/// How a graph is run over samples to observe its values.
struct CalibrationRun {
  std::string target = "reference";  ///< computes the values, in f32
  int threads = 1;
  std::int64_t batch = 32;  ///< largest number of samples at a time
};

using BatchVisitor = std::function<void(std::int64_t first, std::span<const Tensor> values)>;

/// Runs the part of a canonical graph that computes the named values over `samples`. Calls `visit`
/// for each batch with these values, in the order of `values`, and the number of the batch's first
/// sample. Graph inputs may be among the values; all values have the form that the graph gives them
/// (see sample_axes.h). All samples are used: batches of a group have equal size if EvenBatch finds
/// one, else the last batch is smaller, and the part is compiled again for it, as for each group.
/// Only if the model fixes its batch, last samples that do not fill a batch are left out. Each
/// batch is read once, in order, and freed before the next, so memory does not depend on the number
/// of samples. Calls `progress` with the fraction done, in [0, 1]. UserError if the samples do not
/// fit the model or contain a value that is not finite, possibly after some batches were visited.
void ObserveValues(const Graph& canonical, std::span<const std::string> values,
                   const SampleSource& samples, const CalibrationRun& run,
                   const TargetRegistry& registry, const BatchVisitor& visit,
                   const std::function<void(double)>& progress = {});

}  // namespace msc
