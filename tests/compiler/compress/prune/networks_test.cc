#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "compiler/import/onnx/import.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/compress/prune/support.h"

namespace msc {
namespace {

using testing::Describe;
using testing::MaskedEqualsShrunk;
using testing::RandomPlan;

/// Trained networks: the shipped one, those that benchmarks/compression trains, and some that
/// scripts/setup fetches.
class PruneNetwork : public ::testing::TestWithParam<std::string> {};

TEST_P(PruneNetwork, MaskedEqualsShrunkInEveryBit) {
  if (!std::filesystem::exists(GetParam())) GTEST_SKIP() << GetParam() << " is absent";
  Graph graph = ImportOnnx(GetParam());
  Canonicalize(graph);
  const PruneSpace space(graph);
  EXPECT_GE(space.groups().size(), 7U) << Describe(graph);
  Rng rng(3);
  EXPECT_TRUE(MaskedEqualsShrunk(graph, RandomPlan(space, rng, 1.0), 1, 1));
}

INSTANTIATE_TEST_SUITE_P(Models, PruneNetwork,
                         ::testing::Values("experiments/models/fashion_resnet.onnx",
                                           "build/benchmarks/compression/vgg.onnx",
                                           "build/benchmarks/compression/mobile.onnx",
                                           "third_party/models/fr_pose.onnx",
                                           "third_party/models/fr_feature.onnx"),
                         [](const auto& model) {
                           return std::filesystem::path(model.param).stem().string();
                         });

}  // namespace
}  // namespace msc
