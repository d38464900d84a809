#include "gym/search/settle_target.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/pipeline/choose_target.h"
#include "envs/quantize/quantize_config.h"
#include "gym/search/calibration.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

class Lines final : public SearchListener {
 public:
  void ReportLine(const std::string& text) override { lines.push_back(text); }
  std::vector<std::string> lines;
};

TEST(SettleTarget, ChoosesOneAndSaysSo) {
  Lines listener;
  SearchConfig config;
  SettleTarget(nullptr, listener, config);
  EXPECT_EQ(config.target, ChooseTarget(MakeTargets()));
  EXPECT_EQ(listener.lines, std::vector<std::string>{"target: " + config.target + " (auto)"});
}

TEST(SettleTarget, KeepsThatOfTheRunThatIsResumed) {
  const TemporaryFolder folder(testing::TempDir(), "msc_settle_");
  const RunPaths paths{folder.path()};
  SearchConfig before;
  before.target = "reference";
  WriteFileAtomic(paths.At("config.json"), ToJson(before));
  Lines listener;
  SearchConfig config;
  SettleTarget(&paths, listener, config);
  EXPECT_EQ(config.target, "reference");
}

TEST(SettleTarget, LeavesTargetsAlone) {
  Lines listener;
  SearchConfig config;
  config.target = "blas:library=xsmm";
  SettleTarget(nullptr, listener, config);
  EXPECT_EQ(config.target, "blas:library=xsmm");
  EXPECT_TRUE(listener.lines.empty());
}

std::vector<std::int64_t> BitsFor(const std::string& target, std::vector<std::int64_t> given = {},
                                  const RunPaths* resumed = nullptr) {
  SearchConfig config;
  config.target = target;
  config.section<envs::QuantizeConfig>().bits = std::move(given);
  SettleBits(resumed, config);
  return config.section<envs::QuantizeConfig>().bits;
}

TEST(SettleBits, AreThoseThatSuitTheTarget) {
  EXPECT_EQ(BitsFor("reference"), std::vector<std::int64_t>{8});
  EXPECT_EQ(BitsFor("native:isa=baseline"), std::vector<std::int64_t>{8});
  const std::vector<std::int64_t> with_avx2 = BitsFor("native:isa=avx2");
  if (!with_avx2.empty()) {  // a CPU without AVX2 has no such target
    EXPECT_EQ(with_avx2, std::vector<std::int64_t>{7});
  }
  EXPECT_EQ(BitsFor("native", {8, 4}), (std::vector<std::int64_t>{8, 4})) << "as asked for";
  EXPECT_TRUE(BitsFor("no such target").empty());
}

TEST(SettleBits, AreThoseOfTheRunThatIsResumed) {
  const TemporaryFolder folder(testing::TempDir(), "msc_settle_");
  const RunPaths paths{folder.path()};
  SearchConfig before;
  before.section<envs::QuantizeConfig>().bits = {5};
  WriteFileAtomic(paths.At("config.json"), ToJson(before));
  EXPECT_EQ(BitsFor("reference", {}, &paths), std::vector<std::int64_t>{5});
}

TEST(SettleBatch, IsOneForKernelsOfOneSize) {
  SearchConfig config;
  config.target = "native";
  SettleBatch(config);
  EXPECT_EQ(config.quality.batch, 1);
  config.quality.batch = 7;
  SettleBatch(config);
  EXPECT_EQ(config.quality.batch, 7);
}

TEST(SettleBatch, IsLargerElsewhere) {
  SearchConfig config;
  config.target = "reference";
  SettleBatch(config);
  EXPECT_EQ(config.quality.batch, 50);
}

TEST(FittingTarget, IsOnednnInsteadOfACompiler) {
  EXPECT_EQ(FittingTarget("native"), "onednn");
  EXPECT_EQ(FittingTarget("reference"), "reference");
}

}  // namespace
}  // namespace msc::gym
