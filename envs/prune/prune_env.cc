#include "envs/prune/prune_env.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/compress/prune/score.h"
#include "envs/common/strategy_problem.h"
#include "gym/core/decision_env.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Prune-v0";

std::string Word(double density) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.3g", density);
  return text.data();
}

std::vector<gym::Decision> MakeDecisions(const PruneSpace& space) {
  std::vector<gym::Decision> decisions;
  for (const PruneGroup& group : space.groups()) {
    gym::Decision decision{.name = group.name, .choices = {}};
    for (const double density : kPruneDensities) decision.choices.push_back(Word(density));
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

/// Static features of one group; see the header.
std::vector<std::vector<double>> GroupFeatures(const Graph& graph, const PruneSpace& space) {
  const std::vector<bool> all(space.units(), true);
  const double macs = std::max(TotalMacs(graph, space, all), 1.0);
  const double bytes = std::max(KeptBytes(graph, space, all), 1.0);
  std::vector<std::vector<double>> rows;
  for (const PruneGroup& group : space.groups()) {
    double own_macs = 0;
    double own_bytes = 0;
    for (const std::string& layer : group.layers) {
      const NodeId node = graph.FindNode(layer);
      own_macs += KeptMacs(graph, space, node, all);
      const Tensor& weights = *graph.constant(graph.node(node).inputs.at(1));
      own_bytes += static_cast<double>(weights.bytes());
    }
    rows.push_back({static_cast<double>(rows.size()) / static_cast<double>(space.groups().size()),
                    std::min(own_macs / macs, 1.0), std::min(own_bytes / bytes, 1.0),
                    std::min(static_cast<double>(group.units) / 4096, 1.0),
                    std::min(static_cast<double>(group.layers.size()) / 16, 1.0)});
  }
  return rows;
}

class PruneProblem final : public StrategyProblem {
 public:
  explicit PruneProblem(const EnvContext& context)
      : StrategyProblem(kId, context),
        space_(*context.graph),
        scores_(ScoreWeights(*context.graph, space_, ScoreMethod::kL2, 0)),
        decisions_(MakeDecisions(space_)) {
    if (space_.groups().empty()) {
      throw UserError("nothing in the model can be pruned; `mscgym prune` says why");
    }
  }

  [[nodiscard]] const PruneSpace& space() const { return space_; }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] Strategy StrategyOf(const gym::Assignment& assignment) const override {
    PruneRequest request;
    for (std::size_t i = 0; i < decisions_.size(); ++i) {
      request.densities[decisions_[i].name] =
          kPruneDensities.at(static_cast<std::size_t>(assignment.at(i)));
    }
    Strategy strategy = Undecided();
    strategy.prune = ChoosePlan(*context().graph, space_, scores_, request);
    return strategy;
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    for (const double density : {1.0, 0.75, 0.5}) {
      const auto* const at = std::find(kPruneDensities.begin(), kPruneDensities.end(), density);
      anchors.emplace_back(
          Word(density), gym::Assignment(decisions_.size(),
                                         static_cast<std::int32_t>(at - kPruneDensities.begin())));
    }
    return anchors;
  }

  PruneSpace space_;
  UnitScores scores_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace

std::unique_ptr<gym::Env> MakePruneEnv(const EnvContext& context) {
  auto problem = std::make_unique<PruneProblem>(context);
  auto features = GroupFeatures(*context.graph, problem->space());
  return gym::MakeDecisionEnv(std::move(problem), {.facts = {.id = kId, .nondeterministic = true},
                                                   .reward = LatencyAndLossReward,
                                                   .features = std::move(features)});
}

}  // namespace msc::envs
