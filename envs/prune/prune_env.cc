#include "envs/prune/prune_env.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/base/hash.h"
#include "compiler/compress/prune/choose.h"
#include "envs/common/quantity.h"
#include "envs/common/work.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Prune-v0";

UnitScores ScoresOf(const Graph& graph, const ChannelContext& context, const PruneSpace& space) {
  if (context.unit_scores.empty()) return ScoreWeights(graph, space, ScoreMethod::kL2, 0);
  if (context.unit_scores.size() != space.units()) {
    throw UserError("there are " + std::to_string(context.unit_scores.size()) +
                    " scores for a model with " + std::to_string(space.units()) +
                    " units to prune");
  }
  return {.of_unit = context.unit_scores, .are_errors = false};
}

/// Returns the densities of one group that keep different numbers of units. Of several that keep
/// the same number, the one nearest to the kept share stands for all. `kept` has the number of kept
/// units for each density in `available`.
std::vector<double> Distinct(const std::vector<double>& available,
                             const std::vector<std::int64_t>& kept, std::int64_t units) {
  std::vector<double> densities;
  const auto error = [&](double density, std::int64_t count) {
    return std::abs(density - static_cast<double>(count) / static_cast<double>(units));
  };
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const double density = available[i];
    // Densities descend, so those that keep the same number are neighbours.
    if (i == 0 || kept[i] != kept[i - 1]) {
      densities.push_back(density);
    } else if (error(density, kept[i]) < error(densities.back(), kept[i])) {
      densities.back() = density;
    }
  }
  return densities;
}

/// Returns the densities in descending order, with 1, which keeps a group whole.
std::vector<double> DensitiesOf(const ChannelContext& context) {
  std::vector<double> densities = context.densities;
  if (std::find(densities.begin(), densities.end(), 1.0) == densities.end())
    densities.push_back(1.0);
  std::sort(densities.rbegin(), densities.rend());
  if (densities.front() > 1 || !(densities.back() > 0) ||
      std::adjacent_find(densities.begin(), densities.end()) != densities.end()) {
    throw UserError("'prune.densities' must be distinct shares above 0 and at most 1");
  }
  return densities;
}

class PruneProblem final : public StrategyProblem {
 public:
  explicit PruneProblem(const PruneContext& context)
      : StrategyProblem(kId, context), choices_(context.graph, context) {
    if (choices_.decisions().empty()) {
      throw UserError("nothing in the model can be pruned; `mscgym prune` says why");
    }
    decisions_ = choices_.decisions();
    if (const auto align = choices_.AlignDecision()) decisions_.push_back(*align);
  }

 private:
  [[nodiscard]] gym::PriorKnowledge OwnPrior() const override {
    auto rows = choices_.Features();
    std::vector<double> none(rows.at(0).size(), 0.0);
    none[0] = 1;  // position after the last group
    rows.resize(decisions_.size(), none);
    return {.features = rows, .relevance = WorkOf(rows)};
  }

  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] Strategy DoStrategyOf(const gym::Assignment& assignment) const override {
    Strategy strategy = Undecided();
    const std::size_t groups = choices_.decisions().size();
    strategy.prune = choices_.PlanOf(std::span(assignment).first(groups),
                                     assignment.size() > groups ? assignment[groups] : 0);
    FitToSamples(context(), strategy);
    return strategy;
  }

  [[nodiscard]] std::optional<Strategy> NarrowestStrategy() const override {
    Strategy strategy = Undecided();
    strategy.prune = choices_.LeastPlan();
    return strategy;
  }

  [[nodiscard]] std::string Meaning() const override {
    return context().fit_hash + "\n" + choices_.Meaning();
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    for (const double density : {1.0, 0.75, 0.5}) {
      gym::Assignment assignment;
      for (std::size_t i = 0; i < choices_.decisions().size(); ++i) {
        assignment.push_back(choices_.Nearest(i, density));
      }
      assignment.resize(decisions_.size(), 0);
      anchors.emplace_back(Formatted("%.3g", density), std::move(assignment));
    }
    return anchors;
  }

  PruneChoices choices_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace

PruneChoices::PruneChoices(std::shared_ptr<const Graph> graph, const ChannelContext& context)
    : graph_(std::move(graph)),
      space_(*graph_),
      scores_(ScoresOf(*graph_, context, space_)),
      align_(context.align),
      available_(DensitiesOf(context)) {
  std::vector<PrunePlan> plans;
  plans.reserve(available_.size());
  for (const double density : available_) plans.push_back(Uniform(density));
  const auto most = static_cast<std::size_t>(context.first_groups);
  for (const PruneGroup& group : space_.groups()) {
    if (most > 0 && decisions_.size() == most) break;
    const auto units = static_cast<std::int64_t>(group.units);
    std::vector<std::int64_t> kept;
    for (const PrunePlan& plan : plans) {
      const auto it = plan.groups.find(group.name);
      kept.push_back(it == plan.groups.end() ? units : std::ssize(it->second.keep));
    }
    std::vector<double> densities = Distinct(available_, kept, units);
    if (densities.size() < 2) continue;
    gym::Decision decision{
        .name = group.name, .quantity = std::string(kDensity), .values = densities};
    for (const double density : densities) decision.choices.push_back(Formatted("%.3g", density));
    decisions_.push_back(std::move(decision));
    densities_.push_back(std::move(densities));
  }
}

std::optional<gym::Decision> PruneChoices::AlignDecision() const {
  if (align_ != 0) return std::nullopt;
  gym::Decision decision{.name = "align", .quantity = "align"};
  for (const std::int64_t align : kAlignments) {
    decision.choices.push_back("x" + std::to_string(align));
    decision.values.push_back(static_cast<double>(align));
  }
  return decision;
}

PrunePlan PruneChoices::Uniform(double density) const {
  PruneRequest request;
  request.density = density;
  request.align = std::max<std::int64_t>(align_, 1);
  return ChoosePlan(*graph_, space_, scores_, request);
}

std::int32_t PruneChoices::Nearest(std::size_t index, double density) const {
  const std::vector<double>& densities = densities_.at(index);
  const auto nearest = std::min_element(
      densities.begin(), densities.end(),
      [&](double a, double b) { return std::abs(a - density) < std::abs(b - density); });
  return static_cast<std::int32_t>(nearest - densities.begin());
}

PrunePlan PruneChoices::PlanOf(std::span<const std::int32_t> choices,
                               std::int32_t alignment) const {
  Check(choices.size() == decisions_.size(), "one choice a group");
  PruneRequest request;
  request.align = align_ != 0 ? align_ : kAlignments.at(static_cast<std::size_t>(alignment));
  for (std::size_t i = 0; i < choices.size(); ++i) {
    request.densities[decisions_[i].name] = densities_[i].at(static_cast<std::size_t>(choices[i]));
  }
  return ChoosePlan(*graph_, space_, scores_, request);
}

PrunePlan PruneChoices::LeastPlan() const {
  std::vector<std::int32_t> last;
  for (const gym::Decision& decision : decisions_) {
    last.push_back(static_cast<std::int32_t>(decision.choices.size()) - 1);
  }
  // Which alignment keeps the fewest units differs from group to group.
  const std::size_t alignments = align_ != 0 ? 1 : kAlignments.size();
  PrunePlan least = PlanOf(last);
  for (std::size_t i = 1; i < alignments; ++i) {
    for (auto& [group, choice] : PlanOf(last, static_cast<std::int32_t>(i)).groups) {
      const auto [place, is_new] = least.groups.emplace(group, choice);
      if (!is_new && choice.keep.size() < place->second.keep.size()) place->second = choice;
    }
  }
  return least;
}

std::vector<std::vector<double>> PruneChoices::Features() const {
  const std::vector<bool> all(space_.units(), true);
  const double macs = std::max(TotalMacs(*graph_, space_, all), 1.0);
  const double bytes = std::max(KeptBytes(*graph_, space_, all), 1.0);
  std::vector<std::vector<double>> rows;
  for (const gym::Decision& decision : decisions_) {
    const PruneGroup& group = *space_.Find(decision.name);
    double own_macs = 0;
    double own_bytes = 0;
    for (const std::string& layer : group.layers) {
      const NodeId node = graph_->FindNode(layer);
      own_macs += KeptMacs(*graph_, space_, node, all);
      const Tensor& weights = *graph_->constant(graph_->node(node).inputs.at(1));
      own_bytes += static_cast<double>(weights.bytes());
    }
    rows.push_back({static_cast<double>(rows.size()) / static_cast<double>(decisions_.size()),
                    std::min(own_macs / macs, 1.0), std::min(own_bytes / bytes, 1.0),
                    std::min(static_cast<double>(group.units) / 4096, 1.0),
                    std::min(static_cast<double>(group.layers.size()) / 16, 1.0)});
  }
  return rows;
}

std::string PruneChoices::Meaning() const {
  Sha256 hash;
  hash.Add("align " + std::to_string(align_) + "\n");
  hash.Add(std::as_bytes(std::span(scores_.of_unit)));
  return hash.Hex();
}

void FitToSamples(const ModelContext& context, Strategy& strategy) {
  if (strategy.prune.groups.empty() || context.fit_hash.empty()) return;
  strategy.fit.samples = context.fit_hash;
  strategy.quantize.activations.clear();  // the scales of the unpruned model do not apply
}

std::unique_ptr<StrategyProblem> MakePruneProblem(const PruneContext& context) {
  return std::make_unique<PruneProblem>(context);
}

}  // namespace msc::envs
