#include "envs/partition/partition_env.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/partition/search/search.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Partition-v0";
constexpr const char* kExact = "exact";

/// Returns the prices in ascending order, with 0, at which only the costs of regions count.
std::vector<double> PricesOf(const PartitionContext& context) {
  std::vector<double> prices = context.boundary_prices;
  if (std::find(prices.begin(), prices.end(), 0.0) == prices.end()) prices.push_back(0);
  std::sort(prices.begin(), prices.end());
  if (prices.front() < 0 || std::adjacent_find(prices.begin(), prices.end()) != prices.end()) {
    throw UserError("'partition.prices' must be distinct times of at least 0");
  }
  return prices;
}

/// Returns `problem` with `price` added to the cost of every region. At least a picosecond is
/// added, so that of equally cheap covers the one with fewer regions wins.
CoverProblem Priced(const CoverProblem& problem, double price) {
  constexpr double kPicosecond = 1e-6;
  CoverProblem priced = problem;
  for (CandidateRegion& candidate : priced.candidates) {
    if (!candidate.cost.known()) continue;
    const double micros = candidate.cost.micros() + std::max(price, kPicosecond);
    // Cost::Micros rejects larger values.
    candidate.cost = Cost::Micros(std::min(micros, Cost::kMaxMicros));
  }
  return priced;
}

/// The problem at a price of boundaries, and its best cover.
struct PricedCover {
  CoverProblem problem;
  Cover best;
};

/// Returns the best cover at each price.
std::vector<PricedCover> CoversAt(const std::vector<double>& prices, const CoverProblem& cover) {
  std::vector<PricedCover> covers;
  for (const double price : prices) {
    CoverProblem priced = Priced(cover, price);
    // The first price reports what is wrong with all of them: an unknown cost, or a node that no
    // target computes.
    Result<Cover> best = FindCover(priced, kExact);
    if (!best.ok()) throw UserError(best.failure().detail);
    covers.push_back({std::move(priced), std::move(best).value()});
  }
  return covers;
}

/// Microseconds of a node on its fastest and on its slowest target.
struct NodeCost {
  double least = 0;
  double most = 0;
};

/// Returns the cost of each node: an equal part of its region's cost. Of several regions of a
/// target with the node, the cheapest counts.
std::vector<NodeCost> NodeCosts(const CoverProblem& cover) {
  std::vector<std::map<std::string, double>> of_target(cover.flow.size());
  for (const CandidateRegion& candidate : cover.candidates) {
    if (!candidate.cost.known()) continue;
    const double each = candidate.cost.micros() / static_cast<double>(candidate.nodes.Count());
    candidate.nodes.ForEach([&](std::size_t node) {
      const auto [place, is_new] = of_target[node].emplace(candidate.target, each);
      place->second = std::min(place->second, each);
    });
  }
  std::vector<NodeCost> costs;
  for (const std::map<std::string, double>& targets : of_target) {
    // A cover exists, so every node has a target.
    NodeCost cost{.least = targets.begin()->second, .most = 0};
    for (const auto& [target, micros] : targets) {
      cost.least = std::min(cost.least, micros);
      cost.most = std::max(cost.most, micros);
    }
    costs.push_back(cost);
  }
  return costs;
}

/// Returns a row of features for the price, then one for each node.
std::vector<std::vector<double>> FeaturesOf(const DataflowGraph& flow,
                                            const std::vector<NodeCost>& costs) {
  double all = 0;
  for (const NodeCost& cost : costs) all += cost.least;
  std::vector<std::vector<double>> rows = {{0, 0, 0, 0}};
  for (std::size_t i = 0; i < flow.size(); ++i) {
    const FlowNode& node = flow.node(i);
    rows.push_back({static_cast<double>(i) / static_cast<double>(flow.size()),
                    static_cast<double>(node.kind) / static_cast<double>(OpKind::kOpaque),
                    std::min(1.0, static_cast<double>(node.inputs.size()) / 8),
                    all > 0 ? costs[i].least / all : 0});
  }
  return rows;
}

/// Returns the choice that is this target, if there is one.
std::optional<std::int32_t> ChoiceOf(const gym::Decision& decision, const std::string& target) {
  const auto it = std::find(decision.choices.begin(), decision.choices.end(), target);
  if (it == decision.choices.end()) return std::nullopt;
  return static_cast<std::int32_t>(it - decision.choices.begin());
}

/// Returns the decisions: the first is the price; decision i + 1 is node i.
std::vector<gym::Decision> DecisionsOf(const std::vector<double>& prices,
                                       const CoverProblem& cover) {
  std::vector<gym::Decision> decisions = {
      {.name = "boundary_us", .quantity = "boundary_us", .values = prices}};
  for (const double price : prices) decisions[0].choices.push_back(Formatted("%g", price));
  for (std::size_t node = 0; node < cover.flow.size(); ++node) {
    gym::Decision& decision = decisions.emplace_back();
    decision.name = cover.flow.node(node).name;
    for (const CandidateRegion& candidate : cover.candidates) {
      if (!candidate.cost.known() || !candidate.nodes.Contains(node)) continue;
      if (!ChoiceOf(decision, candidate.target)) decision.choices.push_back(candidate.target);
    }
  }
  return decisions;
}

/// By node and choice: the candidates that contain the node, first those that have only this node.
using Support = std::map<std::pair<std::size_t, std::int32_t>, std::vector<std::uint32_t>>;

Support SupportOf(const CoverProblem& cover, const std::vector<gym::Decision>& decisions) {
  Support support;
  for (std::uint32_t i = 0; i < cover.candidates.size(); ++i) {
    const CandidateRegion& candidate = cover.candidates[i];
    if (!candidate.cost.known()) continue;
    candidate.nodes.ForEach([&](std::size_t node) {
      auto& with = support[{node, *ChoiceOf(decisions[node + 1], candidate.target)}];
      with.insert(candidate.nodes.Count() == 1 ? with.begin() : with.end(), i);
    });
  }
  return support;
}

class PartitionProblem final : public StrategyProblem {
 public:
  explicit PartitionProblem(const PartitionContext& context)
      : StrategyProblem(kId, context), cover_(context.cover) {
    if (cover_ == nullptr) {
      throw UserError(std::string(kId) + " needs the candidates of targets and their costs");
    }
    const std::vector<double> prices = PricesOf(context);
    priced_ = CoversAt(prices, cover());
    decisions_ = DecisionsOf(prices, cover());
    support_ = SupportOf(cover(), decisions_);
    masked_ = std::any_of(support_.begin(), support_.end(), [&](const auto& entry) {
      return cover().candidates[entry.second.front()].nodes.Count() > 1;
    });
  }

  [[nodiscard]] const CoverProblem& cover() const { return *cover_; }

 private:
  [[nodiscard]] gym::PriorKnowledge OwnPrior() const override {
    const std::vector<NodeCost> costs = NodeCosts(cover());
    gym::PriorKnowledge prior = {.features = FeaturesOf(cover().flow, costs),
                                 .relevance = {0},  // none of the price
                                 .cover_front = CoverFront()};
    // The relevance of a node is the difference between targets.
    for (const NodeCost& cost : costs) prior.relevance.push_back(cost.most - cost.least);
    return prior;
  }

  [[nodiscard]] bool DoMasked() const override { return masked_; }

  [[nodiscard]] std::vector<bool> DoMask(std::span<const std::int32_t> prefix) const override {
    std::vector<bool> mask(decisions_[prefix.size()].choices.size(), true);
    if (prefix.empty()) return mask;
    std::vector<std::int32_t> given(prefix.begin() + 1, prefix.end());  // choices by node
    const std::size_t node = given.size();
    given.push_back(0);
    for (std::size_t choice = 0; choice < mask.size(); ++choice) {
      given[node] = static_cast<std::int32_t>(choice);
      for (std::size_t j = 0; j < given.size() && mask[choice]; ++j) {
        mask[choice] = HasCandidate(given, j);
      }
    }
    // The earlier choices may have left no legal one; then nothing more is excluded.
    const bool any = std::find(mask.begin(), mask.end(), true) != mask.end();
    return any ? mask : std::vector<bool>(mask.size(), true);
  }

  /// Returns whether the target chosen for `node` has a candidate with the node that agrees with
  /// the choices so far.
  [[nodiscard]] bool HasCandidate(const std::vector<std::int32_t>& given, std::size_t node) const {
    const std::vector<std::uint32_t>& with = support_.at({node, given[node]});
    return std::any_of(with.begin(), with.end(), [&](std::uint32_t i) {
      const CandidateRegion& candidate = cover().candidates[i];
      bool fits = true;
      candidate.nodes.ForEach([&](std::size_t other) {
        fits = fits && (other >= given.size() ||
                        given[other] == ChoiceOf(decisions_[other + 1], candidate.target));
      });
      return fits;
    });
  }

  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] Strategy DoStrategyOf(const gym::Assignment& assignment) const override {
    CoverProblem problem = priced_.at(static_cast<std::size_t>(assignment.at(0))).problem;
    std::vector<PartitionRegion> regions;
    for (FlowIndex node = 0; node < problem.flow.size(); ++node) {
      const std::string& target =
          decisions_[node + 1].choices.at(static_cast<std::size_t>(assignment.at(node + 1)));
      problem.conditions.pins[node] = {target};
      regions.push_back({.nodes = {problem.flow.node(node).name}, .target = target});
    }
    if (const Result<Cover> found = FindCover(problem, kExact); found.ok()) {
      regions.clear();
      for (const std::uint32_t i : found.value().chosen) {
        PartitionRegion& region = regions.emplace_back();
        region.target = problem.candidates[i].target;
        problem.candidates[i].nodes.ForEach(
            [&](std::size_t node) { region.nodes.push_back(problem.flow.node(node).name); });
      }
    }
    Strategy strategy = Undecided();
    strategy.target = regions.front().target;
    if (regions.size() > 1) strategy.partition = std::move(regions);
    return strategy;
  }

  [[nodiscard]] std::optional<Strategy> NarrowestStrategy() const override { return Undecided(); }

  [[nodiscard]] std::string Meaning() const override {
    // The costs of regions determine which of them an assignment stands for.
    std::string text;
    for (const CandidateRegion& candidate : cover().candidates) {
      text += candidate.target + ToString(candidate.nodes) + ToString(candidate.cost) + "\n";
    }
    for (const auto& [edge, micros] : cover().conversions.tensors()) {
      const auto& [tensor, from, to] = edge;
      text += cover().flow.tensor(tensor).name + " " + cover().labels.at(from) + " " +
              cover().labels.at(to) + " " + std::to_string(micros) + "\n";
    }
    return text;
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    for (const std::string& target : decisions_[1].choices) {
      // The highest price leads to the fewest regions.
      gym::Assignment assignment = {static_cast<std::int32_t>(priced_.size()) - 1};
      for (std::size_t i = 1; i < decisions_.size(); ++i) {
        const auto choice = ChoiceOf(decisions_[i], target);
        if (!choice) break;
        assignment.push_back(*choice);
      }
      if (assignment.size() == decisions_.size()) anchors.emplace_back(target, assignment);
    }
    return anchors;
  }

  [[nodiscard]] std::vector<gym::CoverPoint> CoverFront() const {
    std::vector<gym::CoverPoint> front;
    for (std::size_t price = 0; price < priced_.size(); ++price) {
      const std::vector<std::uint32_t>& chosen = priced_[price].best.chosen;
      gym::CoverPoint point{.assignment = gym::Assignment(decisions_.size()),
                            .boundaries = static_cast<double>(chosen.size()) - 1};
      // A higher price never lowers the cost of regions, so a cover without fewer boundaries is
      // dominated.
      if (!front.empty() && point.boundaries >= front.back().boundaries) continue;
      point.assignment[0] = static_cast<std::int32_t>(price);
      for (const std::uint32_t i : chosen) {
        const CandidateRegion& candidate = cover().candidates[i];
        candidate.nodes.ForEach([&](std::size_t node) {
          point.assignment[node + 1] = *ChoiceOf(decisions_[node + 1], candidate.target);
        });
      }
      point.cost = CheckCover(cover(), chosen).value();
      front.push_back(std::move(point));
    }
    return front;
  }

  std::shared_ptr<const CoverProblem> cover_;
  std::vector<PricedCover> priced_;  ///< by price
  std::vector<gym::Decision> decisions_;
  Support support_;
  /// A target supports some node only together with others, which then cannot go to another target.
  bool masked_ = false;
};

}  // namespace

std::unique_ptr<StrategyProblem> MakePartitionProblem(const PartitionContext& context) {
  return std::make_unique<PartitionProblem>(context);
}

}  // namespace msc::envs
