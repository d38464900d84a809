#include "envs/schedule/schedule_env.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Schedule-v0";

/// Returns the multiplications and additions for one sample, after the strategy's pruning.
double FlopsOf(const Graph& canonical, const Strategy& strategy) {
  Graph pruned = canonical;
  ApplyPrunePlan(strategy.prune, pruned);
  const Graph graph = BindSizes(pruned, {});
  double flops = 0;
  for (const NodeId id : graph.order()) flops += CostOf(graph, id).flops;
  return flops;
}

/// Returns the features of kernels; `flops` are those of the whole model.
std::vector<std::vector<double>> FeaturesOf(const std::vector<ScheduledKernel>& kernels,
                                            double flops) {
  double layers = 0;
  for (const ScheduledKernel& kernel : kernels) layers += static_cast<double>(kernel.layers.size());
  std::vector<std::vector<double>> rows;
  rows.reserve(kernels.size());
  for (const ScheduledKernel& kernel : kernels) {
    rows.push_back({static_cast<double>(rows.size()) / static_cast<double>(kernels.size()),
                    flops > 0 ? std::min(kernel.flops / flops, 1.0) : 0,
                    static_cast<double>(kernel.layers.size()) / layers});
  }
  return rows;
}

class ScheduleProblem final : public StrategyProblem {
 public:
  explicit ScheduleProblem(const ScheduleContext& context)
      : StrategyProblem(kId, context), kernels_(context.kernels) {
    if (kernels_ == nullptr || kernels_->empty()) {
      throw UserError("target '" + context.target +
                      "' has no choice of schedules for this model's kernels; native has");
    }
    for (const ScheduledKernel& kernel : *kernels_) {
      gym::Decision decision{.name = kernel.kernel};
      for (const KernelSchedule& schedule : kernel.choices) {
        decision.choices.push_back(Name(schedule));
      }
      decisions_.push_back(std::move(decision));
    }
    gym::CheckDecisions(decisions_);
  }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] Strategy DoStrategyOf(const gym::Assignment& assignment) const override {
    Strategy strategy = Undecided();
    for (std::size_t i = 0; i < kernels_->size(); ++i) {
      const auto choice = static_cast<std::size_t>(assignment.at(i));
      if (choice == 0) continue;  // the target's default
      const ScheduledKernel& kernel = (*kernels_)[i];
      for (const std::string& layer : kernel.layers) {
        strategy.schedules.emplace(layer, kernel.choices.at(choice));
      }
    }
    return strategy;
  }

  [[nodiscard]] std::optional<Strategy> NarrowestStrategy() const override { return Undecided(); }

  [[nodiscard]] std::string Meaning() const override {
    // The layers that each decision applies to.
    std::string text;
    for (const ScheduledKernel& kernel : *kernels_) {
      for (const std::string& layer : kernel.layers) text += layer + "\n";
      text += "\n";
    }
    return text;
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    return {{"default", gym::Assignment(decisions_.size(), 0)}};
  }

  [[nodiscard]] gym::PriorKnowledge OwnPrior() const override {
    gym::PriorKnowledge prior = {.features =
                                     FeaturesOf(*kernels_, FlopsOf(*context().graph, Undecided()))};
    // The possible gain of a kernel grows with its work.
    for (const ScheduledKernel& kernel : *kernels_) {
      prior.relevance.push_back(kernel.choices.size() > 1 ? kernel.flops : 0);
    }
    return prior;
  }

  std::shared_ptr<const std::vector<ScheduledKernel>> kernels_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace

std::unique_ptr<StrategyProblem> MakeScheduleProblem(const ScheduleContext& context) {
  return std::make_unique<ScheduleProblem>(context);
}

}  // namespace msc::envs
