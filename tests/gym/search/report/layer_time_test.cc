#include "gym/search/report/layer_time.h"

#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

/// A layer in int8 with what comes before and behind it.
std::vector<cost::Profile> Profiles() {
  const auto step = [](const char* name, const char* precision, std::vector<std::string> nodes,
                       double ns) {
    return cost::StepProfile{.name = name,
                             .target = "onednn",
                             .precision = precision,
                             .nodes = std::move(nodes),
                             .median_ns = ns,
                             .precisions = {}};
  };
  cost::Profile profile;
  profile.steps = {step("conv1 rows", "", {"conv1"}, 1e6), step("conv1", "int8", {"conv1"}, 2e6),
                   step("conv1 prelu", "f32", {"conv1"}, 3e6), step("reorder", "", {}, 1e6),
                   step("conv2", "f32", {"conv2"}, 3e6)};
  return {cost::Profile{}, profile};
}

TEST(LayerTime, HasThePrecisionOfTheLayersOwnStep) {
  const LayerTime time = TimeOf(Profiles(), 1, "conv1");
  EXPECT_EQ(time.precision, "int8") << "not of the PRelu behind it";
  EXPECT_DOUBLE_EQ(time.ms.value(), 6) << "with all that closes it";
  EXPECT_DOUBLE_EQ(time.share.value(), 0.6);
  EXPECT_EQ(TimeOf(Profiles(), 1, "conv2").precision, "f32");
}

TEST(LayerTime, IsThatOfEachLayerOfAStepWhereItIsKnown) {
  std::vector<cost::Profile> profiles(1);
  profiles[0].steps = {{.name = "all",
                        .target = "onnxruntime",
                        .precision = "mixed",
                        .nodes = {"conv1", "conv2"},
                        .median_ns = 1e6,
                        .precisions = {{"conv1", "int8"}}}};
  EXPECT_EQ(TimeOf(profiles, 0, "conv1").precision, "int8");
  EXPECT_EQ(TimeOf(profiles, 0, "conv2").precision, "mixed");
}

TEST(LayerTime, IsUnknownWithoutAStep) {
  EXPECT_EQ(TimeOf(Profiles(), 0, "conv1").ms, std::nullopt);
  EXPECT_EQ(TimeOf(Profiles(), 2, "conv1").ms, std::nullopt);
  EXPECT_EQ(TimeOf(Profiles(), 1, "conv9").precision, "");
}

}  // namespace
}  // namespace msc::gym
