#include "envs/compress/compress_env.h"

#include <algorithm>
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

/// The kind of a decision and its index among those of its kind.
struct Part {
  Kind kind = Kind::kLayer;
  std::size_t index = 0;  ///< index among the decisions of its kind
};

/// Returns the feature that identifies a kind.
double MarkOf(Kind kind) {
  switch (kind) {
    case Kind::kTarget:
      return 0.5;
    case Kind::kDensity:
      return 1;
    case Kind::kSchedule:
      return 0.75;
    case Kind::kRecipe:
      return 0.25;
    case Kind::kLayer:
      return 0;
  }
  return 0;
}

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

class CompressProblem final : public StrategyProblem {
 public:
  explicit CompressProblem(const CompressContext& context)
      : StrategyProblem(kId, context),
        context_(context),
        places_(context.graph, PlacesOf(context)),
        channels_(context.graph, context),
        layers_(OfAnyTarget(context, places_)),
        schedules_(context.graph, context.scales, context),
        recipes_(context.compress.distill, context.fit_hash) {
    const bool none = layers_.layers().empty();
    if (channels_.decisions().empty() || none) {
      throw UserError(std::string("the model has ") +
                      (none ? "no layer to quantize" : "no channels to prune") +
                      "; search with the env quantize or prune alone");
    }
    OrderDecisions();
  }

 private:
  [[nodiscard]] gym::PriorKnowledge OwnPrior() const override {
    return {.features = Features(), .relevance = Work()};
  }

  [[nodiscard]] std::vector<std::vector<double>> Features() const {
    const std::map<Kind, std::vector<std::vector<double>>> of_kind = {
        {Kind::kTarget, places_.Features()},
        {Kind::kDensity, channels_.Features()},
        {Kind::kLayer, layers_.Features(*context().graph)},
        {Kind::kSchedule, schedules_.Features()},
        // A recipe follows the last layer: its position is 1.
        {Kind::kRecipe, std::vector<std::vector<double>>(recipes_.decisions().size(), {1.0})}};
    std::size_t width = 0;
    std::vector<std::vector<double>> rows;
    for (const Part& part : parts_) {
      std::vector<double> row = {MarkOf(part.kind)};
      const std::vector<double>& own = of_kind.at(part.kind)[part.index];
      row.insert(row.end(), own.begin(), own.end());
      width = std::max(width, row.size());
      rows.push_back(std::move(row));
    }
    for (std::vector<double>& row : rows) row.resize(width, 0.0);
    rows.resize(decisions_.size(), std::vector<double>(width, 0.0));  // for "align", if it exists
    return rows;
  }

  [[nodiscard]] std::vector<double> Work() const {
    const std::map<Kind, std::vector<double>> of_kind = {
        {Kind::kTarget, WorkOf(places_.Features())},
        {Kind::kDensity, WorkOf(channels_.Features())},
        {Kind::kLayer, layers_.Work(*context().graph)},
        {Kind::kSchedule, WorkOf(schedules_.Features())},
        {Kind::kRecipe, std::vector<double>(recipes_.decisions().size(), 0.0)}};
    std::vector<double> work;
    for (const Part& part : parts_) work.push_back(of_kind.at(part.kind)[part.index]);
    work.resize(decisions_.size(), 0.0);  // for "align", if it exists
    return work;
  }

  /// Puts the decisions in the order of the network.
  void OrderDecisions() {
    std::map<std::string, std::size_t> place;
    for (const NodeId id : context().graph->order()) {
      place.emplace(context().graph->node(id).name, place.size());
    }
    const auto of_layer = [&](std::size_t layer) { return place.at(layers_.layers()[layer].name); };
    std::vector<std::pair<std::size_t, Part>> order;
    for (std::size_t i = 0; i < places_.decisions().size(); ++i) {
      order.push_back({of_layer(places_.FirstLayer(i)), {Kind::kTarget, i}});
    }
    for (std::size_t i = 0; i < channels_.decisions().size(); ++i) {
      order.push_back({place.at(channels_.decisions()[i].name), {Kind::kDensity, i}});
    }
    for (std::size_t i = 0; i < layers_.decisions().size(); ++i) {
      const auto layer = layers_.LayerOf(i);
      // Decisions about all layers come last.
      order.push_back({layer ? of_layer(*layer) : place.size(), {Kind::kLayer, i}});
    }
    for (std::size_t i = 0; i < schedules_.decisions().size(); ++i) {
      order.push_back({place.at(schedules_.FirstLayer(i)), {Kind::kSchedule, i}});
    }
    for (std::size_t i = 0; i < recipes_.decisions().size(); ++i) {
      order.push_back({place.size(), {Kind::kRecipe, i}});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at, part] : order) {
      if (part.kind == Kind::kTarget) target_at_.push_back(parts_.size());
      if (part.kind == Kind::kRecipe && part.index == 0) epochs_at_ = parts_.size();
      parts_.push_back(part);
      gym::Decision decision = OfKind(part.kind)[part.index];
      if (part.kind == Kind::kDensity) decision.name += " channels";
      decisions_.push_back(std::move(decision));
    }
    if (const auto align = channels_.AlignDecision()) decisions_.push_back(*align);
  }

  [[nodiscard]] const std::vector<gym::Decision>& OfKind(Kind kind) const {
    switch (kind) {
      case Kind::kTarget:
        return places_.decisions();
      case Kind::kDensity:
        return channels_.decisions();
      case Kind::kSchedule:
        return schedules_.decisions();
      case Kind::kRecipe:
        return recipes_.decisions();
      case Kind::kLayer:
        break;
    }
    return layers_.decisions();
  }

  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] bool DoMasked() const override {
    return (!places_.decisions().empty() && places_.Differ()) || recipes_.Masks();
  }

  [[nodiscard]] std::vector<bool> DoMask(std::span<const std::int32_t> prefix) const override {
    const std::size_t at = prefix.size();
    std::vector<bool> mask(decisions_[at].choices.size(), true);
    if (at >= parts_.size()) return mask;
    const std::size_t index = parts_[at].index;
    if (parts_[at].kind == Kind::kLayer) MaskLayer(index, prefix, mask);
    if (parts_[at].kind == Kind::kRecipe && index > 0) {
      recipes_.Mask(index, prefix[epochs_at_], mask);
    }
    return mask;
  }

  /// Masks the choices that the layer's target, decided earlier, does not support.
  void MaskLayer(std::size_t index, std::span<const std::int32_t> prefix,
                 std::vector<bool>& mask) const {
    const auto layer = layers_.LayerOf(index);
    if (!layer || places_.decisions().empty()) return;
    const std::int32_t target = prefix[target_at_[places_.PieceOf(*layer)]];
    for (std::size_t choice = 0; choice < mask.size(); ++choice) {
      const auto wanted = layers_.ChoiceOf(index, static_cast<std::int32_t>(choice));
      mask[choice] =
          !wanted || !places_.Rejects(target, layers_.layers()[*layer].name, wanted->precision);
    }
  }

  /// Returns the choices of one kind, in the order of its own decisions.
  [[nodiscard]] std::vector<std::int32_t> ChoicesOf(Kind kind,
                                                    const gym::Assignment& assignment) const {
    std::vector<std::int32_t> choices(OfKind(kind).size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].kind == kind) choices[parts_[i].index] = assignment.at(i);
    }
    return choices;
  }

  [[nodiscard]] Strategy DoStrategyOf(const gym::Assignment& assignment) const override {
    Strategy strategy =
        layers_.StrategyOf(context_, ChoicesOf(Kind::kLayer, assignment), Undecided().model_hash);
    strategy.prune =
        channels_.PlanOf(ChoicesOf(Kind::kDensity, assignment),
                         assignment.size() > parts_.size() ? assignment[parts_.size()] : 0);
    FitToSamples(context(), strategy);
    places_.Place(ChoicesOf(Kind::kTarget, assignment), strategy);
    schedules_.Schedule(ChoicesOf(Kind::kSchedule, assignment), strategy);
    recipes_.Train(ChoicesOf(Kind::kRecipe, assignment), strategy);
    return strategy;
  }

  [[nodiscard]] std::optional<Strategy> NarrowestStrategy() const override {
    Strategy strategy = Undecided();
    strategy.quantize = layers_.LeastPlan();
    strategy.prune = channels_.LeastPlan();
    return strategy;
  }

  [[nodiscard]] std::string Meaning() const override {
    return layers_.Meaning(context_) + "\n" + context().fit_hash + "\n" + channels_.Meaning() +
           places_.Meaning() + schedules_.Meaning() + recipes_.Meaning();
  }

  [[nodiscard]] gym::Assignment Uniform(const Baseline& baseline) const {
    const gym::Assignment of_layers = layers_.Uniform(baseline.layer);
    gym::Assignment assignment;
    for (const Part& part : parts_) {
      switch (part.kind) {
        case Kind::kTarget:
          assignment.push_back(baseline.target);
          break;
        case Kind::kDensity:
          assignment.push_back(channels_.Nearest(part.index, baseline.density));
          break;
        case Kind::kLayer: {
          // Falls back to f32 if the target does not support the precision.
          const std::int32_t choice = of_layers[part.index];
          const std::vector<bool> mask = DoMasked() ? DoMask(assignment) : std::vector<bool>();
          const bool can = mask.empty() || mask[static_cast<std::size_t>(choice)];
          assignment.push_back(can ? choice : 0);
          break;
        }
        case Kind::kSchedule:
          assignment.push_back(0);
          break;
        case Kind::kRecipe:
          assignment.push_back(part.index == 0 ? baseline.epochs : 0);
          break;
      }
    }
    assignment.resize(decisions_.size(), 0);
    return assignment;
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    // The lossless baseline comes first: a search then has a feasible answer from its first trial.
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    anchors.emplace_back(Name(Precision::kF32), Uniform({}));
    for (const std::int64_t bits : context_.quantize.bits) {
      const LayerChoice choice{Precision::kInt8, bits};
      anchors.emplace_back(Word(choice), Uniform({choice}));
      for (const auto& [name, density] : {std::pair("0.75 ", 0.75), std::pair("0.5 ", 0.5)}) {
        anchors.emplace_back(name + Word(choice), Uniform({choice, density}));
      }
    }
    const LayerChoice narrow{Precision::kInt8, context_.quantize.bits.front()};
    if (!recipes_.decisions().empty()) {
      const std::vector<std::string>& epochs = recipes_.decisions()[0].choices;
      anchors.emplace_back("0.5 " + Word(narrow) + ", " + epochs.back(),
                           Uniform({.layer = narrow,
                                    .density = 0.5,
                                    .epochs = static_cast<std::int32_t>(epochs.size()) - 1}));
    }
    if (!places_.decisions().empty()) AddTargetAnchors(narrow, anchors);
    return anchors;
  }

  using Anchors = std::vector<std::pair<std::string, gym::Assignment>>;

  void AddTargetAnchors(const LayerChoice& narrow, Anchors& anchors) const {
    std::set<gym::Assignment> seen;
    for (std::size_t target = 1; target < places_.targets().size(); ++target) {
      for (const LayerChoice& choice : {LayerChoice{}, narrow}) {
        // For a target that supports only f32 both choices are the same assignment.
        const gym::Assignment all =
            Uniform({.layer = choice, .target = static_cast<std::int32_t>(target)});
        if (!seen.insert(all).second) continue;
        anchors.emplace_back(Word(choice) + " on " + places_.targets()[target], all);
      }
    }
  }

  QuantizeContext context_;
  PlaceChoices places_;
  PruneChoices channels_;
  QuantizeChoices layers_;
  ScheduleChoices schedules_;
  TrainChoices recipes_;
  std::vector<Part> parts_;
  std::vector<std::size_t> target_at_;  ///< position of its target decision, by piece
  std::size_t epochs_at_ = 0;           ///< position of the epochs decision, if it exists
  std::vector<gym::Decision> decisions_;
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
