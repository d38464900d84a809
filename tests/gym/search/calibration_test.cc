#include "gym/search/calibration.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/prepare.h"
#include "gym/search/registries.h"
#include "gym/search/run_paths.h"
#include "gym/study/time_budget.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

constexpr const char* kNet = R"(graph net {
  input %x : f32[n,4]
  const %w : f32[3,4] = random 1
  const %v : f32[2,3] = random 2
  %a = Gemm(%x, %w) @first {transB = 1}
  %b = Relu(%a) @relu
  %y = Gemm(%b, %v) @second {transB = 1}
  output %y
})";

/// A run directory before its search, whose config names no samples.
class Calibration : public testing::Test {
 protected:
  Calibration() {
    config_.target = "reference";
    prepared_.targets = MakeTargets();
    prepared_.graph = graph_;
  }
  static std::shared_ptr<const Graph> Net() {
    Graph graph = ParseGraph(kNet);
    InferTypes(graph);
    return std::make_shared<const Graph>(std::move(graph));
  }
  static std::string MakeFolder() {
    std::string folder = testing::TempDir() + "calibration_" +
                         testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    MakeFolders(folder);
    return folder;
  }
  [[nodiscard]] Preparation Get() {
    return {.host = host_,
            .config = config_,
            .paths = paths_,
            .time = time_,
            .calibration = samples_,
            .prepared = prepared_};
  }
  void WriteScales(const std::string& hash) const {
    WriteFileAtomic(paths_.At("scales.json"),
                    R"({"format":"msc-scales-1","model_hash":")" + hash +
                        R"(","scales":{"x":{"scale":0.5}},"by_range":{"mse":{"x":{"scale":1}}}})");
  }

  SearchListener listener_;
  SearchHost host_{.program = "", .listener = listener_};
  SearchConfig config_;
  RunPaths paths_{MakeFolder()};
  TimeBudget time_{0};
  std::shared_ptr<const Graph> graph_ = Net();
  Prepared prepared_;
  CalibrationSamples samples_{config_.calibration, *graph_};
};

TEST_F(Calibration, ReadsTheScalesOfAnEarlierRun) {
  WriteScales(GraphHash(*prepared_.graph));
  const CalibratedScales found = Calibrate(Get());
  EXPECT_EQ(found.scales.at("x").scale, 0.5);
  EXPECT_EQ(found.by_range.at("mse").at("x").scale, 1);
}

TEST_F(Calibration, RejectsTheScalesOfAnotherModel) {
  WriteScales(std::string(64, 'a'));
  EXPECT_EQ(MessageOf<UserError>([&] { (void)Calibrate(Get()); }),
            "'" + paths_.At("scales.json") +
                "' was made for another model or config; choose another --out");
}

TEST_F(Calibration, RejectsScalesThatLackAMethodOfTheConfig) {
  WriteScales(GraphHash(*prepared_.graph));
  config_.section<envs::QuantizeConfig>().ranges = {"mse", "entropy"};
  EXPECT_THROW((void)Calibrate(Get()), UserError);
}

TEST_F(Calibration, SaysWhichKeyNamesSamples) {
  EXPECT_EQ(MessageOf<UserError>([&] { (void)Calibrate(Get()); }),
            "set 'calibration.data.images' in the config");
}

TEST_F(Calibration, KeepsTheUnsupportedPrecisionsOfEachTarget) {
  const UnsupportedOnTargets found = FindUnsupported(Get(), {}, {"reference"});
  EXPECT_EQ(found.own, found.of_others.at("reference"));
  // A run keeps what it found first.
  WriteFileAtomic(paths_.At("lacked.json"),
                  R"({"format":"msc-lacked-1","layers":{"first":["int8"]},"others":{}})");
  const UnsupportedOnTargets kept = FindUnsupported(Get(), {}, {});
  EXPECT_EQ(kept.own, (envs::UnsupportedPrecisions{{"first", {Precision::kInt8}}}));
}

TEST_F(Calibration, RejectsUnsupportedPrecisionsThatLackATarget) {
  (void)FindUnsupported(Get(), {}, {});
  EXPECT_EQ(MessageOf<UserError>([&] { (void)FindUnsupported(Get(), {}, {"native"}); }),
            "'" + paths_.At("lacked.json") +
                "' was made with a config without the target 'native'; choose another --out");
}

TEST_F(Calibration, ScoresUnitsByWeightsWithoutSamples) {
  const std::vector<double> scores = ScoreUnits(Get());
  EXPECT_EQ(scores.size(), 3U);
  EXPECT_FALSE(std::filesystem::exists(paths_.At("unit_scores.json")));
}

TEST_F(Calibration, RejectsScoresByAnotherMethod) {
  config_.section<PruneConfig>().score = "obs";
  WriteFileAtomic(paths_.At("unit_scores.json"), R"({"format":"msc-unit-scores-1","model_hash":")" +
                                                     GraphHash(*prepared_.graph) +
                                                     R"(","method":"taylor","scores":[1,2,3]})");
  EXPECT_THROW((void)ScoreUnits(Get()), UserError);
}

}  // namespace
}  // namespace msc::gym
