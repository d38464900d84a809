#include "envs/compress/compress_env.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "envs/common/work.h"
#include "envs/distill/train_choices.h"
#include "envs/partition/place_choices.h"
#include "envs/prune/prune_env.h"
#include "envs/quantize/quantize_choices.h"
#include "envs/quantize/quantize_env.h"
#include "envs/schedule/schedule_choices.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Compress-v0";

enum class Kind : unsigned char { kTarget, kDensity, kLayer, kSchedule, kRecipe };
constexpr std::size_t kKinds = 5;
template <class T>
using ByKind = std::array<T, kKinds>;

/// The feature that identifies each kind.
constexpr ByKind<double> kMarks = {0.5, 1, 0, 0.75, 0.25};

std::size_t IndexOf(Kind kind) {
  return static_cast<std::size_t>(kind);
}

/// The kind of a decision and its index among those of its kind.
struct Part {
  Kind kind = Kind::kLayer;
  std::size_t index = 0;
};

/// The uniform choices of a joint baseline.
struct Baseline {
  LayerChoice layer;
  double density = 1;
  std::int32_t target = 0;
  std::int32_t epochs = 0;  ///< index of the choice
};

/// Returns the context for decisions about layers: a layer's choices are the precisions that any
/// target supports. The targets of tied layers may be decided after their common precision, so its
/// choices are those that all targets support.
QuantizeContext OfAnyTarget(QuantizeContext context, const PlaceChoices& places) {
  const std::vector<QuantizableLayer> layers = OfferedLayers(context);
  const std::vector<std::size_t> first = TiedLayers(context, layers);
  const auto by_any = places.UnsupportedByAny();
  context.unsupported = places.UnsupportedByAll();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto it = by_any.find(layers[i].name);
    if (std::count(first.begin(), first.end(), first[i]) > 1 && it != by_any.end()) {
      context.unsupported[layers[i].name] = it->second;
    }
  }
  return context;
}

/// What there is to choose for a model, by kind.
struct Choices {
  explicit Choices(const CompressContext& context)
      : places(context.graph, PlacesOf(context)),
        channels(context.graph, context),
        layers(OfAnyTarget(context, places)),
        schedules(context.graph, context.scales, context),
        recipes(context.compress.distill, context.fit_hash) {
    const bool none = layers.layers().empty();
    if (channels.decisions().empty() || none) {
      throw UserError(std::string("the model has ") +
                      (none ? "no layer to quantize" : "no channels to prune") +
                      "; search with the env quantize or prune alone");
    }
  }

  [[nodiscard]] const std::vector<gym::Decision>& Of(Kind kind) const {
    const ByKind<const std::vector<gym::Decision>*> decisions = {
        &places.decisions(), &channels.decisions(), &layers.decisions(), &schedules.decisions(),
        &recipes.decisions()};
    return *decisions[IndexOf(kind)];
  }

  PlaceChoices places;
  PruneChoices channels;
  QuantizeChoices layers;
  ScheduleChoices schedules;
  TrainChoices recipes;
};

/// All decisions in the order of the network.
struct Order {
  std::vector<Part> parts = {};             ///< of all decisions but the alignment, which is last
  std::vector<std::size_t> target_at = {};  ///< position of its target decision, by piece
  std::size_t epochs_at = 0;                ///< position of the epochs decision, if it exists
  std::vector<gym::Decision> decisions = {};
};

Order OrderOf(const Choices& choices, const Graph& graph) {
  std::map<std::string, std::size_t> place;
  for (const NodeId id : graph.order()) place.emplace(graph.node(id).name, place.size());
  const std::size_t last = place.size();
  std::vector<std::pair<std::size_t, Part>> placed;
  const auto add = [&](Kind kind, const auto& place_of) {
    for (std::size_t i = 0; i < choices.Of(kind).size(); ++i) {
      placed.push_back({place_of(i), {kind, i}});
    }
  };
  const auto of_layer = [&](std::size_t i) { return place.at(choices.layers.layers()[i].name); };
  add(Kind::kTarget, [&](std::size_t i) { return of_layer(choices.places.FirstLayer(i)); });
  add(Kind::kDensity, [&](std::size_t i) { return place.at(choices.Of(Kind::kDensity)[i].name); });
  add(Kind::kLayer, [&](std::size_t i) {
    const auto layer = choices.layers.LayerOf(i);
    return layer ? of_layer(*layer) : last;  // decisions about all layers come last
  });
  add(Kind::kSchedule, [&](std::size_t i) { return place.at(choices.schedules.FirstLayer(i)); });
  add(Kind::kRecipe, [&](std::size_t) { return last; });
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Order order;
  for (const auto& [at, part] : placed) {
    if (part.kind == Kind::kTarget) order.target_at.push_back(order.parts.size());
    if (part.kind == Kind::kRecipe && part.index == 0) order.epochs_at = order.parts.size();
    order.parts.push_back(part);
    gym::Decision decision = choices.Of(part.kind)[part.index];
    if (part.kind == Kind::kDensity) decision.name += " channels";
    order.decisions.push_back(std::move(decision));
  }
  if (const auto align = choices.channels.AlignDecision()) order.decisions.push_back(*align);
  return order;
}

std::vector<std::vector<double>> FeaturesOf(const Choices& choices, const Order& order,
                                            const Graph& graph) {
  const ByKind<std::vector<std::vector<double>>> of_kind = {
      choices.places.Features(), choices.channels.Features(), choices.layers.Features(graph),
      choices.schedules.Features(),
      // A recipe follows the last layer: its position is 1.
      std::vector<std::vector<double>>(choices.Of(Kind::kRecipe).size(), {1.0})};
  std::size_t width = 0;
  std::vector<std::vector<double>> rows;
  for (const Part& part : order.parts) {
    std::vector<double> row = {kMarks[IndexOf(part.kind)]};
    const std::vector<double>& own = of_kind[IndexOf(part.kind)][part.index];
    row.insert(row.end(), own.begin(), own.end());
    width = std::max(width, row.size());
    rows.push_back(std::move(row));
  }
  rows.resize(order.decisions.size());  // for "align", if it exists
  for (std::vector<double>& row : rows) row.resize(width, 0.0);
  return rows;
}

std::vector<double> RelevanceOf(const Choices& choices, const Order& order, const Graph& graph) {
  const ByKind<std::vector<double>> of_kind = {
      WorkOf(choices.places.Features()), WorkOf(choices.channels.Features()),
      choices.layers.Work(graph), WorkOf(choices.schedules.Features()),
      std::vector<double>(choices.Of(Kind::kRecipe).size(), 0.0)};
  std::vector<double> work;
  for (const Part& part : order.parts) work.push_back(of_kind[IndexOf(part.kind)][part.index]);
  work.resize(order.decisions.size(), 0.0);  // for "align", if it exists
  return work;
}

bool IsMasked(const Choices& choices) {
  return (!choices.places.decisions().empty() && choices.places.Differ()) ||
         choices.recipes.Masks();
}

/// Masks the choices that the layer's target, decided earlier, does not support.
void MaskLayer(const Choices& choices, const Order& order, std::size_t index,
               std::span<const std::int32_t> prefix, std::vector<bool>& mask) {
  const auto layer = choices.layers.LayerOf(index);
  if (!layer || choices.places.decisions().empty()) return;
  const std::int32_t target = prefix[order.target_at[choices.places.PieceOf(*layer)]];
  const std::string& name = choices.layers.layers()[*layer].name;
  for (std::size_t choice = 0; choice < mask.size(); ++choice) {
    const auto wanted = choices.layers.ChoiceOf(index, static_cast<std::int32_t>(choice));
    mask[choice] = !wanted || !choices.places.Rejects(target, name, wanted->precision);
  }
}

/// Returns the mask of the decision after `prefix`.
std::vector<bool> MaskOf(const Choices& choices, const Order& order,
                         std::span<const std::int32_t> prefix) {
  const std::size_t at = prefix.size();
  std::vector<bool> mask(order.decisions[at].choices.size(), true);
  if (at >= order.parts.size()) return mask;
  const auto [kind, index] = order.parts[at];
  if (kind == Kind::kLayer) MaskLayer(choices, order, index, prefix, mask);
  if (kind == Kind::kRecipe && index > 0) {
    choices.recipes.Mask(index, prefix[order.epochs_at], mask);
  }
  return mask;
}

/// Returns the part of an assignment that decides one kind, in the order of its own decisions.
std::vector<std::int32_t> PartOf(const gym::Assignment& assignment, Kind kind,
                                 const Choices& choices, const Order& order) {
  std::vector<std::int32_t> part(choices.Of(kind).size());
  for (std::size_t i = 0; i < order.parts.size(); ++i) {
    if (order.parts[i].kind == kind) part[order.parts[i].index] = assignment.at(i);
  }
  return part;
}

gym::Assignment Uniform(const Choices& choices, const Order& order, const Baseline& baseline) {
  const gym::Assignment of_layers = choices.layers.Uniform(baseline.layer);
  gym::Assignment assignment;
  for (const auto& [kind, index] : order.parts) {
    std::int32_t choice = 0;
    if (kind == Kind::kTarget) choice = baseline.target;
    if (kind == Kind::kDensity) choice = choices.channels.Nearest(index, baseline.density);
    if (kind == Kind::kRecipe && index == 0) choice = baseline.epochs;
    if (kind == Kind::kLayer) {
      choice = of_layers[index];
      // Falls back to f32 if the target does not support the precision.
      const auto at = static_cast<std::size_t>(choice);
      if (IsMasked(choices) && !MaskOf(choices, order, assignment)[at]) choice = 0;
    }
    assignment.push_back(choice);
  }
  assignment.resize(order.decisions.size(), 0);
  return assignment;
}

using NamedAssignments = std::vector<std::pair<std::string, gym::Assignment>>;

/// Adds f32, and `narrow` as far as supported, on each of the other targets alone.
void AddTargetAnchors(const Choices& choices, const Order& order, const LayerChoice& narrow,
                      NamedAssignments& anchors) {
  std::set<gym::Assignment> seen;
  const std::vector<std::string>& targets = choices.places.targets();
  for (std::size_t target = 1; target < targets.size(); ++target) {
    for (const LayerChoice& choice : {LayerChoice{}, narrow}) {
      // For a target that supports only f32 both choices are the same assignment.
      const gym::Assignment all =
          Uniform(choices, order, {.layer = choice, .target = static_cast<std::int32_t>(target)});
      if (!seen.insert(all).second) continue;
      anchors.emplace_back(ChoiceName(choice) + " on " + targets[target], all);
    }
  }
}

NamedAssignments AnchorsOf(const Choices& choices, const Order& order,
                           const std::vector<std::int64_t>& bits, bool trains) {
  // The lossless baseline comes first: a search then has a feasible answer from its first trial.
  NamedAssignments anchors;
  const auto add = [&](std::string name, const Baseline& baseline) {
    anchors.emplace_back(std::move(name), Uniform(choices, order, baseline));
  };
  add(std::string(Name(Precision::kF32)), {});
  for (const std::int64_t each : bits) {
    const LayerChoice choice{Precision::kInt8, each};
    add(ChoiceName(choice), {choice});
    add("0.75 " + ChoiceName(choice), {choice, 0.75});
    add("0.5 " + ChoiceName(choice), {choice, 0.5});
  }
  const LayerChoice narrow{Precision::kInt8, bits.front()};
  if (trains) {
    const std::vector<std::string>& epochs = choices.recipes.decisions()[0].choices;
    add("0.5 " + ChoiceName(narrow) + ", " + epochs.back(),
        {.layer = narrow, .density = 0.5, .epochs = static_cast<std::int32_t>(epochs.size()) - 1});
  }
  if (!choices.places.decisions().empty()) AddTargetAnchors(choices, order, narrow, anchors);
  return anchors;
}

class CompressProblem final : public StrategyProblem {
 public:
  explicit CompressProblem(const CompressContext& context)
      : StrategyProblem(kId, context),
        quantize_(context),
        choices_(context),
        order_(OrderOf(choices_, *context.graph)),
        trains_best_(context.compress.train_share > 0) {}

 private:
  [[nodiscard]] gym::PriorKnowledge OwnPrior() const override {
    return {.features = FeaturesOf(choices_, order_, *context().graph),
            .relevance = RelevanceOf(choices_, order_, *context().graph)};
  }
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return order_.decisions;
  }
  [[nodiscard]] bool DoMasked() const override { return IsMasked(choices_); }
  [[nodiscard]] std::vector<bool> DoMask(std::span<const std::int32_t> prefix) const override {
    return MaskOf(choices_, order_, prefix);
  }
  [[nodiscard]] NamedAssignments DoAnchors() const override {
    const bool trains = !choices_.recipes.decisions().empty() && !trains_best_;
    return AnchorsOf(choices_, order_, WeightBits(quantize_.quantize), trains);
  }

  [[nodiscard]] Strategy DoStrategyOf(const gym::Assignment& assignment) const override {
    const auto part = [&](Kind kind) { return PartOf(assignment, kind, choices_, order_); };
    const std::size_t align = order_.parts.size();
    Strategy strategy =
        choices_.layers.StrategyOf(quantize_, part(Kind::kLayer), Undecided().model_hash);
    strategy.prune = choices_.channels.PlanOf(part(Kind::kDensity),
                                              assignment.size() > align ? assignment[align] : 0);
    FitToSamples(context(), strategy);
    choices_.places.Place(part(Kind::kTarget), strategy);
    choices_.schedules.Schedule(part(Kind::kSchedule), strategy);
    choices_.recipes.Train(part(Kind::kRecipe), strategy);
    return strategy;
  }

  [[nodiscard]] std::optional<Strategy> NarrowestStrategy() const override {
    Strategy strategy = Undecided();
    strategy.quantize = choices_.layers.LeastPlan();
    strategy.prune = choices_.channels.LeastPlan();
    return strategy;
  }

  [[nodiscard]] std::string Meaning() const override {
    return choices_.layers.Meaning(quantize_) + "\n" + context().fit_hash + "\n" +
           choices_.channels.Meaning() + choices_.places.Meaning() + choices_.schedules.Meaning() +
           choices_.recipes.Meaning();
  }

  QuantizeContext quantize_;
  Choices choices_;
  Order order_;
  bool trains_best_;  ///< the search chooses what is trained: nothing is to begin with
};

}  // namespace

PlaceContext PlacesOf(const CompressContext& context) {
  return {.target = context.target,
          .targets = context.compress.targets,
          .pieces = context.compress.pieces,
          .unsupported = context.unsupported,
          .unsupported_on = context.unsupported_on};
}

std::unique_ptr<StrategyProblem> MakeCompressProblem(const CompressContext& context) {
  return std::make_unique<CompressProblem>(context);
}

}  // namespace msc::envs
