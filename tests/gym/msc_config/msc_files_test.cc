#include "gym/msc_config/msc_files.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {
namespace {

class MscFile : public ::testing::Test {
 protected:
  MscFile() {
    run_ = ::testing::TempDir() + "msc_files_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(run_);
    MakeFolders(At("best"));
    Strategy strategy;
    strategy.target = "native";
    SaveStrategy(strategy, best());
  }
  ~MscFile() override { std::filesystem::remove_all(run_); }

  [[nodiscard]] std::string At(const std::string& name) const { return run_ + "/" + name; }
  [[nodiscard]] std::string best() const { return At("best/strategy.json"); }
  [[nodiscard]] std::vector<std::string> Write(const std::string& best) const {
    return WriteMscFiles(files_, run_, best, MscRecord(decisions_, trials_));
  }
  [[nodiscard]] std::string Refusal() const {
    try {
      CheckMscFiles(files_, run_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  }

  std::string run_;
  MscFiles files_ = {.strategies = {"msc/quantize.json"}, .records = {"searched.json"}};
  std::vector<Decision> decisions_ = {{"conv", {"f32", "int8"}}};
  std::vector<Trial> trials_ = {
      {.number = 0, .source = "anchor:f32", .assignment = {0}, .evaluation = {}},
      {.number = 1, .source = "grid", .assignment = {1}, .evaluation = {}}};
};

TEST_F(MscFile, HoldsTheBestStrategyAndWhatWasTried) {
  trials_[0].evaluation.metrics = {{"latency", 1}};
  trials_[1].evaluation.failure = Failure{FailureKind::kTimeout, "slow"};
  EXPECT_EQ(Refusal(), "none");
  EXPECT_EQ(Write(best()), (std::vector<std::string>{"strategy_file: " + At("msc/quantize.json"),
                                                     "record: " + At("searched.json")}));
  EXPECT_EQ(ReadFile(At("msc/quantize.json")), ReadFile(best()));
  EXPECT_EQ(ReadFile(At("searched.json")),
            R"({
 "format": "mscgym record",
 "trials": [
  {
   "actions": {
    "conv": "f32"
   },
   "rewards": {
    "latency": 1.0
   },
   "source": "anchor:f32",
   "trial": 0
  },
  {
   "actions": {
    "conv": "int8"
   },
   "failure": "slow",
   "source": "grid",
   "trial": 1
  }
 ],
 "version": 1
}
)");
}

TEST_F(MscFile, ReplacesAnEarlierOneOfOursAndSaysSo) {
  (void)Write(best());
  Strategy other;
  other.target = "onednn";
  SaveStrategy(other, best());
  EXPECT_EQ(Refusal(), "none");
  EXPECT_EQ(Write(best()),
            (std::vector<std::string>{
                "strategy_file: " + At("msc/quantize.json") + ", replacing an earlier one",
                "record: " + At("searched.json") + ", replacing an earlier one"}));
  EXPECT_EQ(LoadStrategy(At("msc/quantize.json")).target, "onednn");
}

TEST_F(MscFile, LeavesWhatIsNotOurs) {
  const std::string plan = R"({"relu:0-c-conv2d_1":{"scale":41.9,"sign":true}})";
  MakeFolders(At("msc"));
  WriteFileAtomic(At("msc/quantize.json"), plan);
  EXPECT_EQ(Refusal(), "'" + At("msc/quantize.json") +
                           "' exists and is not a strategy of mscgym; move it away, or set "
                           "'strategy_file' to another file");
  WriteFileAtomic(At("searched.json"), "{}");
  EXPECT_EQ(Write(best()), (std::vector<std::string>{
                               "strategy_file: " + At("msc/quantize.json") +
                                   " was not written: it exists and is not a strategy of mscgym",
                               "record: " + At("searched.json") +
                                   " was not written: it exists and is not a record of mscgym"}));
  EXPECT_EQ(ReadFile(At("msc/quantize.json")), plan);
  EXPECT_EQ(ReadFile(At("searched.json")), "{}");
}

TEST_F(MscFile, LeavesTheWeightsOfAnother) {
  MakeFolders(At("msc"));
  WriteFileAtomic(At("msc/quantize.weights"), "not ours");
  EXPECT_NE(Refusal().find("which already exists"), std::string::npos) << Refusal();
  (void)Write(best());
  EXPECT_FALSE(std::filesystem::exists(At("msc/quantize.json")));
  EXPECT_EQ(ReadFile(At("msc/quantize.weights")), "not ours");
}

TEST_F(MscFile, IsNoneWhereNothingKeepsTheLimits) {
  files_.records.clear();
  EXPECT_EQ(Write(""), std::vector<std::string>{"strategy_file: " + At("msc/quantize.json") +
                                                " was not written: no candidate keeps the limits"});
  EXPECT_FALSE(std::filesystem::exists(At("msc")));
}

TEST_F(MscFile, IsRefusedBeforeTheSearchWhereItCannotBeWritten) {
  files_ = {.strategies = {}, .records = {At("absent/searched.json")}};
  EXPECT_THROW(CheckMscFiles(files_, run_), SystemError);
}

}  // namespace
}  // namespace msc::gym
