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
#include "compiler/pipeline/observe.h"
#include "compiler/targets/target.h"

namespace msc {

/// Values of a graph over all samples, kept on disk (ScratchFile), from which runs of the graph
/// start once what computes these values does not change any more. Memory does not depend on the
/// number of samples. The samples, the run and the registry outlive the object. Not thread-safe.
class CachedActivations {
 public:
  CachedActivations(const SampleSource& samples, const CalibrationRun& run,
                    const TargetRegistry& registry);
  CachedActivations(const CachedActivations&) = delete;
  CachedActivations& operator=(const CachedActivations&) = delete;
  ~CachedActivations();

  /// Caches the named values of a canonical graph in place of those cached before, from which it
  /// computes them.
  void Cache(const Graph& graph, std::span<const std::string> values);
  /// As ObserveValues, but runs only what lies between the cached values and `values`: the cached
  /// ones, recognised by name, must be those that `graph` has. Runs all of it if some of `values`
  /// need more than these.
  void Observe(const Graph& graph, std::span<const std::string> values, const BatchVisitor& visit);

 private:
  class Store;
  class Run;
  using BatchTaker = std::function<void(std::int64_t first, std::vector<Tensor> values)>;

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
