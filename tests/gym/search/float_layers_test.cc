#include "gym/search/float_layers.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"

namespace msc::gym {
namespace {

/// A model whose layers lose independently of each other.
class Model {
 public:
  explicit Model(std::vector<double> harm) {
    for (std::size_t i = 0; i < harm.size(); ++i) {
      harm_["layer" + std::to_string(i)] = harm[i];
      task_.layers.push_back("layer" + std::to_string(i));
    }
    task_.loss = [this](const std::set<std::string>& kept) {
      ++losses;
      return LossWithout(kept);
    };
    task_.rough_loss = [this](const std::set<std::string>& kept) { return LossWithout(kept); };
    task_.progress = [this](std::size_t done, std::size_t most) {
      EXPECT_GE(done, shown);
      EXPECT_LT(done, most);
      shown = done;
      return done < stop_at;
    };
  }
  [[nodiscard]] double LossWithout(const std::set<std::string>& kept) const {
    double square = 0;
    for (const auto& [name, harm] : harm_) square += kept.contains(name) ? 0 : harm * harm;
    return std::sqrt(square);
  }
  [[nodiscard]] FloatLayers Choose() const { return ChooseFloatLayers(task_); }

  std::size_t losses = 0;
  std::size_t shown = 0;
  std::size_t stop_at = std::numeric_limits<std::size_t>::max();
  /// Admits this share of the work, of which each layer does a share.
  void SetWork(const std::map<std::string, double>& work, double most) {
    task_.work = work;
    task_.most_work = most;
  }

 private:
  std::map<std::string, double> harm_;
  FloatLayersTask task_;
};

std::vector<std::string> NamesOf(const FloatLayers& layers) {
  std::vector<std::string> names;
  for (const FloatLayer& layer : layers.kept) names.push_back(layer.name);
  return names;
}

TEST(ChooseFloatLayers, KeepsNoneIfAllMayBeQuantized) {
  Model model({0.5, 0.5, 0.5});
  const FloatLayers layers = model.Choose();
  EXPECT_TRUE(layers.kept.empty());
  EXPECT_EQ(layers.ranked, 0U);
  EXPECT_EQ(model.losses, 1U);
}

TEST(ChooseFloatLayers, KeepsTheMostHarmfulOnesFirst) {
  Model model({0.1, 3, 0.2, 5, 0.3});
  const FloatLayers layers = model.Choose();
  EXPECT_EQ(NamesOf(layers), (std::vector<std::string>{"layer3", "layer1"}));
  EXPECT_DOUBLE_EQ(layers.kept[0].loss_alone, 5);
  EXPECT_NEAR(layers.loss_before, 5.84, 0.01);
  EXPECT_NEAR(layers.loss_after, 0.37, 0.01);
}

TEST(ChooseFloatLayers, KeepsAsFewAsSuffice) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> harm(1 + rng.Below(12));
    for (double& each : harm) each = 2 * rng.Uniform();
    Model model(harm);
    const FloatLayers layers = model.Choose();
    const std::vector<std::string> names = NamesOf(layers);
    const std::set<std::string> kept(names.begin(), names.end());
    EXPECT_LE(model.LossWithout(kept), 1);
    if (kept.empty()) continue;
    std::set<std::string> fewer = kept;
    fewer.erase(names.back());
    EXPECT_GT(model.LossWithout(fewer), 1);
  }
}

TEST(ChooseFloatLayers, KeepsCheapLayersIfTheySuffice) {
  Model model({0.9, 0.8, 0.8});
  model.SetWork({{"layer0", 0.8}, {"layer1", 0.1}, {"layer2", 0.1}}, 1);
  EXPECT_EQ(NamesOf(model.Choose()), (std::vector<std::string>{"layer1", "layer2"}));
}

TEST(ChooseFloatLayers, KeepsWhatIsAdmittedIfThatDoesNotSuffice) {
  Model model({4.5, 4, 3, 2});
  model.SetWork({{"layer0", 0.4}, {"layer1", 0.2}, {"layer2", 0.2}, {"layer3", 0.2}}, 0.5);
  const FloatLayers layers = model.Choose();
  EXPECT_FALSE(layers.suffices);
  EXPECT_EQ(NamesOf(layers), (std::vector<std::string>{"layer1", "layer2"}));
  EXPECT_NEAR(layers.loss_after, std::sqrt(24.25), 1e-9);
  EXPECT_NEAR(layers.loss_before, std::sqrt(49.25), 1e-9);
}

TEST(ChooseFloatLayers, KeepsTheFewestOfThoseAdmitted) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> harm(2 + rng.Below(10));
    for (double& each : harm) each = rng.Uniform();
    Model model(harm);
    std::map<std::string, double> work;
    for (std::size_t i = 0; i < harm.size(); ++i) {
      work["layer" + std::to_string(i)] = 1 / static_cast<double>(harm.size());
    }
    model.SetWork(work, 0.5);
    const FloatLayers layers = model.Choose();
    const std::vector<std::string> names = NamesOf(layers);
    const std::set<std::string> kept(names.begin(), names.end());
    EXPECT_LE(kept.size(), harm.size() / 2);
    EXPECT_EQ(layers.suffices, model.LossWithout(kept) <= 1);
    if (!layers.suffices) {
      EXPECT_EQ(kept.size(), harm.size() / 2);
      continue;
    }
    if (kept.empty()) continue;
    std::set<std::string> fewer = kept;
    fewer.erase(names.back());
    EXPECT_GT(model.LossWithout(fewer), 1);
  }
}

TEST(ChooseFloatLayers, KeepsAllIfNothingElseSuffices) {
  Model model({2, 2, 2});
  const FloatLayers layers = model.Choose();
  EXPECT_EQ(layers.kept.size(), 3U);
  EXPECT_EQ(layers.loss_after, 0);
}

TEST(ChooseFloatLayers, TakesLayersForHarmlessThatWereNotRankedInTime) {
  Model model({4, 0.1, 3, 0.1});
  model.stop_at = 2;
  const FloatLayers layers = model.Choose();
  EXPECT_EQ(layers.ranked, 1U);
  ASSERT_EQ(layers.kept.size(), 3U);  // the order of the model decides among the others
  EXPECT_EQ(layers.kept[0].name, "layer0");
}

}  // namespace
}  // namespace msc::gym
