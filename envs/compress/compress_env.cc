#include "envs/compress/compress_env.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "envs/common/strategy_problem.h"
#include "envs/prune/prune_env.h"
#include "envs/quantize/quantize_choices.h"
#include "gym/core/decision_env.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Compress-v0";

/// Which decision of which kind stands at a place.
struct Part {
  bool is_density = false;
  std::size_t index = 0;  ///< among those of its kind
};

class CompressProblem final : public StrategyProblem {
 public:
  explicit CompressProblem(const EnvContext& context)
      : StrategyProblem(kId, context), channels_(context), layers_(context) {
    const bool none = layers_.layers().empty();
    if (channels_.decisions().empty() || none) {
      throw UserError(std::string("the model has ") +
                      (none ? "no layer to quantize" : "no channels to prune") +
                      "; search with the env quantize or prune alone");
    }
    Order();
  }

  [[nodiscard]] std::vector<std::vector<double>> Features() const {
    const auto of_channels = channels_.Features();
    const auto of_layers = layers_.Features(*context().graph);
    const std::size_t width = 1 + std::max(of_channels[0].size(), of_layers[0].size());
    std::vector<std::vector<double>> rows;
    for (const Part& part : parts_) {
      const std::vector<double>& own =
          part.is_density ? of_channels[part.index] : of_layers[part.index];
      std::vector<double> row = {part.is_density ? 1.0 : 0.0};
      row.insert(row.end(), own.begin(), own.end());
      row.resize(width, 0.0);
      rows.push_back(std::move(row));
    }
    rows.resize(decisions_.size(), std::vector<double>(width, 0.0));  // of "align", if there is it
    return rows;
  }

 private:
  /// In the order of the network.
  void Order() {
    std::map<std::string, std::size_t> place;
    for (const NodeId id : context().graph->order()) {
      place.emplace(context().graph->node(id).name, place.size());
    }
    std::vector<std::pair<std::size_t, Part>> order;
    for (std::size_t i = 0; i < channels_.decisions().size(); ++i) {
      order.push_back({place.at(channels_.decisions()[i].name), {true, i}});
    }
    for (std::size_t i = 0; i < layers_.decisions().size(); ++i) {
      const auto layer = layers_.LayerOf(i);
      // What is about all of them comes last.
      order.push_back({layer ? place.at(layers_.layers()[*layer].name) : place.size(), {false, i}});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at, part] : order) {
      parts_.push_back(part);
      gym::Decision decision =
          part.is_density ? channels_.decisions()[part.index] : layers_.decisions()[part.index];
      if (part.is_density) decision.name += " channels";
      decisions_.push_back(std::move(decision));
    }
    if (const auto align = channels_.AlignDecision()) decisions_.push_back(*align);
  }

  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] Strategy StrategyOf(const gym::Assignment& assignment) const override {
    std::vector<std::int32_t> densities(channels_.decisions().size());
    std::vector<std::int32_t> choices(layers_.decisions().size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      (part.is_density ? densities : choices)[part.index] = assignment.at(i);
    }
    Strategy strategy = layers_.StrategyOf(context(), choices, Undecided().model_hash);
    strategy.prune = channels_.PlanOf(
        densities, assignment.size() > parts_.size() ? assignment[parts_.size()] : 0);
    FitToSamples(context(), strategy);
    return strategy;
  }

  [[nodiscard]] gym::Assignment Smallest() const override {
    // Which alignment leaves least differs from group to group.
    return channels_.AlignDecision() ? gym::Assignment() : LastChoices();
  }

  [[nodiscard]] std::string Meaning() const override {
    return layers_.Meaning(context()) + "\n" + context().fit_hash + "\n" + channels_.Meaning();
  }

  [[nodiscard]] gym::Assignment Uniform(double density, const LayerChoice& choice) const {
    const gym::Assignment of_layers = layers_.Uniform(choice);
    gym::Assignment assignment;
    for (const Part& part : parts_) {
      assignment.push_back(part.is_density ? channels_.Nearest(part.index, density)
                                           : of_layers[part.index]);
    }
    assignment.resize(decisions_.size(), 0);
    return assignment;
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    for (const std::int64_t bits : context().quantize.bits) {
      const LayerChoice choice{Precision::kInt8, bits};
      anchors.emplace_back(Word(choice), Uniform(1, choice));
      for (const auto& [name, density] : {std::pair("0.75 ", 0.75), std::pair("0.5 ", 0.5)}) {
        anchors.emplace_back(name + Word(choice), Uniform(density, choice));
      }
    }
    anchors.emplace_back(Name(Precision::kF32), Uniform(1, {}));
    return anchors;
  }

  PruneChoices channels_;
  QuantizeChoices layers_;
  std::vector<Part> parts_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace

std::unique_ptr<gym::Env> MakeCompressEnv(const EnvContext& context) {
  auto problem = std::make_unique<CompressProblem>(context);
  auto features = problem->Features();
  return gym::MakeDecisionEnv(std::move(problem), {.facts = {.id = kId, .nondeterministic = true},
                                                   .reward = LatencyAndLossReward,
                                                   .features = std::move(features)});
}

}  // namespace msc::envs
