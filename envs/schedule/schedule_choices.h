#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/schedule.h"
#include "compiler/strategy/strategy.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// Kernels whose schedules are decided along with other things.
struct KernelContext {
  /// Kernels of the uncompressed model, with the schedules available for each; nullptr = none.
  std::shared_ptr<const std::vector<ScheduledKernel>> kernels = {};
  /// Returns the kernels of a strategy with known scales, with the schedules available for each.
  std::function<std::vector<ScheduledKernel>(const Strategy&)> kernels_of = {};
};

/// The decisions about the schedules of some kernels, for envs that also decide the compression of
/// the model.
///
/// A choice is only a request, as the schedules of a layer's kernel depend on its channels,
/// precision and target. If the final layer does not support the requested schedule, or its target
/// uses that one by default, the strategy has no schedule for it. So a request never fails a trial,
/// and all schedules in a strategy run.
class ScheduleChoices {
 public:
  /// Takes the kernels of a canonical graph from context.kernels, if the context also has
  /// kernels_of; else there are no decisions. `scales` are those of the uncompressed model.
  ScheduleChoices(std::shared_ptr<const Graph> graph, std::map<std::string, TensorScale> scales,
                  const KernelContext& context);

  /// Returns the decisions, "LAYER schedule" by the first layer of each kernel. Choices are
  /// "default", then names of schedules.
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// Returns the name of the layer after which a decision is named.
  [[nodiscard]] const std::string& FirstLayer(std::size_t decision) const;
  /// Adds the requested schedules to the layers of `strategy` that support them. All other
  /// decisions of the strategy are made.
  void Schedule(std::span<const std::int32_t> choices, Strategy& strategy) const;
  /// Returns a row for each decision, each value in [0, 1]: position among the kernels, share of
  /// their work, share of their layers.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// Returns text for the hash: what the meaning of choices depends on besides the model and
  /// themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  std::shared_ptr<const Graph> graph_;
  std::map<std::string, TensorScale> scales_;
  std::vector<ScheduledKernel> kernels_;
  std::function<std::vector<ScheduledKernel>(const Strategy&)> kernels_of_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace msc::envs
