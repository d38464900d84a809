#include "envs/toy/knapsack.h"

#include <algorithm>
#include <map>
#include <string>

#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "gym/core/decision_env.h"

namespace msc::envs {

namespace {

constexpr std::array<KnapsackLayer, 6> kLayers = {{
    {"conv1", {90, 60, 50}, {0, 30, 400}},
    {"conv2", {240, 130, 70}, {0, 10, 60}},
    {"depthwise", {60, 45, 40}, {0, 20, 350}},
    {"conv3", {310, 170, 90}, {0, 15, 120}},
    {"down", {180, 95, 60}, {0, 25, 210}},
    {"head", {120, 70, 30}, {0, 40, 260}},
}};

/// Integer sums, which do not depend on the order of additions.
struct Totals {
  std::int64_t latency_us = 0;
  std::int64_t drop_milli = 0;
};

Totals Sum(const gym::Assignment& assignment) {
  Totals totals;
  for (std::size_t i = 0; i < kLayers.size(); ++i) {
    const auto choice = static_cast<std::size_t>(assignment[i]);
    totals.latency_us += kLayers[i].latency_us[choice];
    totals.drop_milli += kLayers[i].drop_milli[choice];
  }
  return totals;
}

/// Returns the time and loss of each layer in each precision, as features for learning agents.
std::vector<std::vector<double>> FeatureRows() {
  std::vector<std::vector<double>> rows;
  for (const KnapsackLayer& layer : kLayers) {
    std::vector<double>& row = rows.emplace_back();
    row.insert(row.end(), layer.latency_us.begin(), layer.latency_us.end());
    row.insert(row.end(), layer.drop_milli.begin(), layer.drop_milli.end());
  }
  return rows;
}

class KnapsackProblem final : public gym::SearchProblem {
 public:
  explicit KnapsackProblem(bool apart)
      : apart_(apart), reference_(Sum(gym::Assignment(kLayers.size(), 0))) {
    for (const KnapsackLayer& layer : kLayers) {
      decisions_.push_back({.name = std::string(layer.name),
                            .choices = {kKnapsackPrecisions.begin(), kKnapsackPrecisions.end()},
                            .quantity = "bits",
                            .values = {32, 16, 8}});
    }
  }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }
  [[nodiscard]] bool DoMasked() const override { return apart_; }
  [[nodiscard]] std::vector<bool> DoMask(std::span<const std::int32_t> prefix) const override {
    std::vector<bool> mask(kKnapsackPrecisions.size(), true);
    // Of the choices 1 (bf16) and 2 (int8), masks the one that the layer before does not have.
    if (!prefix.empty() && prefix.back() > 0)
      mask[static_cast<std::size_t>(3 - prefix.back())] = false;
    return mask;
  }
  [[nodiscard]] std::vector<std::string> DoMetrics() const override {
    return {"latency_ratio", "accuracy_drop"};
  }

  void DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !stop(); ++i) done(i, Try(batch[i]));
  }

  [[nodiscard]] gym::Evaluation Try(const gym::Assignment& assignment) const {
    const Totals totals = Sum(assignment);
    const std::map<std::string, std::int64_t> record = {{"latency_us", totals.latency_us},
                                                        {"drop_milli", totals.drop_milli}};
    return {.metrics = {{"latency_ratio", static_cast<double>(totals.latency_us) /
                                              static_cast<double>(reference_.latency_us)},
                        {"accuracy_drop", static_cast<double>(totals.drop_milli) / 1000}},
            .record = ToJsonText(record)};
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    for (std::size_t i = 0; i < kKnapsackPrecisions.size(); ++i) {
      anchors.emplace_back(kKnapsackPrecisions[i],
                           gym::Assignment(kLayers.size(), static_cast<std::int32_t>(i)));
    }
    return anchors;
  }
  [[nodiscard]] gym::PriorKnowledge DoPrior() const override {
    return {.costs = Costs(), .features = FeatureRows()};
  }
  [[nodiscard]] std::map<std::string, gym::AdditiveCost> Costs() const {
    std::map<std::string, gym::AdditiveCost> costs;
    for (const KnapsackLayer& layer : kLayers) {
      std::vector<double>& latency = costs["latency_ratio"].effects.emplace_back();
      for (const std::int32_t time : layer.latency_us) {
        latency.push_back(static_cast<double>(time) / static_cast<double>(reference_.latency_us));
      }
      std::vector<double>& drop = costs["accuracy_drop"].effects.emplace_back();
      for (const std::int32_t loss : layer.drop_milli) {
        drop.push_back(static_cast<double>(loss) / 1000);
      }
    }
    return costs;
  }
  [[nodiscard]] std::string DoDescribe(const gym::Assignment& assignment) const override {
    return gym::ChoicesAsJson(decisions_, assignment);
  }
  [[nodiscard]] std::string DoHash() const override {
    std::string text = apart_ ? "Toy/MaskedKnapsack-v0" : "Toy/PrecisionKnapsack-v0";
    for (const KnapsackLayer& layer : kLayers) {
      text += " " + std::string(layer.name);
      for (const std::int32_t cost : layer.latency_us) text += " " + std::to_string(cost);
      for (const std::int32_t drop : layer.drop_milli) text += " " + std::to_string(drop);
    }
    return Sha256Hex(text);
  }

  bool apart_;  // whether the mask keeps bf16 and int8 apart
  std::vector<gym::Decision> decisions_;
  Totals reference_;
};

double Reward(const gym::Evaluation& result) {
  const double excess = std::max(0.0, result.metrics.at("accuracy_drop") - kKnapsackBudget);
  return -result.metrics.at("latency_ratio") - 10 * excess;
}

}  // namespace

std::span<const KnapsackLayer> KnapsackLayers() {
  return kLayers;
}

std::unique_ptr<gym::Env> MakeKnapsackEnv() {
  return gym::MakeDecisionEnv(std::make_unique<KnapsackProblem>(false),
                              {.facts = {.id = "Toy/PrecisionKnapsack-v0"}, .reward = Reward});
}

std::unique_ptr<gym::Env> MakeMaskedKnapsackEnv() {
  return gym::MakeDecisionEnv(std::make_unique<KnapsackProblem>(true),
                              {.facts = {.id = "Toy/MaskedKnapsack-v0"}, .reward = Reward});
}

}  // namespace msc::envs
