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
#include "envs/register.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// How some kernels of a model are written, for all who decide that beside its compression.
///
/// A choice is a wish: what a layer's kernel can be depends on its channels, its precision and its
/// target. A layer that cannot be written so as it is by then, or is written so by itself, has no
/// schedule in the strategy: its target does as it would. So a wish fails no trial, and what a
/// strategy has runs.
class ScheduleChoices {
 public:
  /// Offered are context.kernels, if it has kernels_of, too.
  explicit ScheduleChoices(const EnvContext& context);

  /// "LAYER schedule" by the first layer of each kernel: "default", then the names of schedules.
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// Name of the layer that a decision is named by.
  [[nodiscard]] const std::string& FirstLayer(std::size_t decision) const;
  /// Gives layers of the strategy, which is decided but for this, the schedules that they can have.
  void Schedule(std::span<const std::int32_t> choices, Strategy& strategy) const;
  /// A row a decision, each in [0, 1]: place among them, share of their work, share of their
  /// layers.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// What the choices mean besides the model and themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  std::shared_ptr<const Graph> graph_;
  std::map<std::string, TensorScale> scales_;
  std::vector<ScheduledKernel> kernels_;
  std::function<std::vector<ScheduledKernel>(const Strategy&)> kernels_of_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace msc::envs
