#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"
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
  /// Most bytes of activations that are kept in memory between runs of parts of a graph.
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

/// Values of a graph over all samples, kept in memory, from which runs of the graph start once what
/// computes these values does not change any more. The samples, the run and the registry outlive
/// the object. Not thread-safe.
class CachedActivations {
 public:
  CachedActivations(const SampleSource& samples, const CalibrationRun& run,
                    const TargetRegistry& registry)
      : samples_(samples), run_(run), registry_(registry) {}

  /// Caches the named values of a canonical graph in place of those cached before, from which it
  /// computes them.
  void Cache(const Graph& graph, std::span<const std::string> values);
  /// As ObserveValues, but runs only what lies between the cached values and `values`: the cached
  /// ones, recognised by name, must be those that `graph` has. Runs all of it if some of `values`
  /// need more than these.
  void Observe(const Graph& graph, std::span<const std::string> values, const BatchVisitor& visit);

 private:
  struct Batch {
    std::int64_t first = 0;
    std::vector<Tensor> values = {};  ///< in the order of `names`
  };
  struct Store {
    std::vector<std::string> names;
    std::vector<Batch> batches = {};
  };
  class Run;
  /// Receives the values of a batch, and returns those that the batch had before, or none if the
  /// store is not used any more.
  using BatchTaker =
      std::function<std::vector<Tensor>(std::int64_t first, std::vector<Tensor> values)>;

  /// Runs what lies between the cached values and `values`. Returns false, without calling `take`,
  /// if nothing is cached or `values` need more.
  bool RunFromStore(const Graph& graph, std::span<const std::string> values,
                    const BatchTaker& take);

  const SampleSource& samples_;
  const CalibrationRun& run_;
  const TargetRegistry& registry_;
  std::unique_ptr<Store> store_;
};

}  // namespace msc
