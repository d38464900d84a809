#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/compile.h"
#include "compiler/targets/target.h"

namespace msc {

/// How a graph is run over samples to observe its values.
struct CalibrationRun {
  std::string target = "reference";  ///< computes the values, in f32
  int threads = 1;
  std::int64_t batch = 32;  ///< largest number of samples at a time
  /// Batches that run at once, each on `threads` threads; 0: as many as the cores of this process
  /// allow, up to 8, since each needs memory. What is observed does not depend on it.
  int calls = 0;
  /// Most bytes of activations that are kept, on disk, between runs of parts of a graph.
  double cached_bytes = 512.0 * (1U << 20U);

  /// Returns `calls`, or the number that it leaves to the cores.
  [[nodiscard]] int CallsAtOnce() const;
  /// Returns the number of threads for work between the calls.
  [[nodiscard]] int Cores() const { return threads * CallsAtOnce(); }
};

using BatchVisitor = std::function<void(std::int64_t first, std::span<const Tensor> values)>;

/// Runs the part of a canonical graph that computes the named values over `samples`. Calls `visit`
/// for each batch with these values, in the order of `values`, and the number of the batch's first
/// sample. Graph inputs may be among the values; all values have the form that the graph gives them
/// (see sample_axes.h). All samples are used: batches of a group have equal size if EvenBatch finds
/// one, else the last batch is smaller, and the part is compiled again for it, as for each group.
/// Only if the model fixes its batch, last samples that do not fill a batch are left out. Each
/// batch is read once, in order, and run.CallsAtOnce() of them are in memory at a time, so memory
/// does not depend on the number of samples. Calls `progress` with the fraction done, in [0, 1].
/// UserError if the samples do not fit the model or contain a value that is not finite, possibly
/// after some batches were visited.
void ObserveValues(const Graph& canonical, std::span<const std::string> values,
                   const SampleSource& samples, const CalibrationRun& run,
                   const TargetRegistry& registry, const BatchVisitor& visit,
                   const std::function<void(double)>& progress = {});

/// Compiles a part of a graph for a run. UserError if it does not compile.
[[nodiscard]] Executable CompilePart(const Graph& part, const ShapeBindings& bindings,
                                     const CalibrationRun& run, const TargetRegistry& registry);

}  // namespace msc
