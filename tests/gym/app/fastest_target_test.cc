#include "gym/app/fastest_target.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/pipeline/samples.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

class TimeTargetsTest : public testing::Test {
 protected:
  TimeTargetsTest() {
    Tensor& images = images_.emplace_back(DType::kF32, Dims{4, 1, 28, 28});
    Rng rng(1);
    for (float& x : images.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  [[nodiscard]] std::vector<TargetTime> On(const std::vector<std::string>& targets) const {
    return TimeTargets(LoadModel("experiments/models/fashion_resnet.onnx", {}),
                       TensorSamples(images_), targets, 1, MakeTargets());
  }

  std::vector<Tensor> images_;
};

TEST_F(TimeTargetsTest, TimesEachInF32AndTheFastestIsFirst) {
  const std::vector<TargetTime> times = On({"reference", "native"});
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].target, "native") << "the reference interprets the model";
  for (const TargetTime& time : times) {
    ASSERT_TRUE(time.f32_ms.has_value()) << time.target;
    EXPECT_GT(*time.f32_ms, 0) << time.target;
    ASSERT_TRUE(time.int8_ms.has_value()) << time.target;
    EXPECT_GT(*time.int8_ms, 0) << time.target;
  }
  EXPECT_LE(times[0].Least(), times[1].Least());
}

TEST_F(TimeTargetsTest, LeavesOutWhatThisBuildLacks) {
  EXPECT_TRUE(On({"abacus"}).empty());
  const std::vector<TargetTime> times = On({"abacus", "reference"});
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].target, "reference");
}

TEST(TargetTime, SaysWhatWasTimed) {
  EXPECT_EQ((TargetTime{"onednn", 18.94, 2.64}).Text(), "onednn 18.9 (f32), 2.64 (int8) ms");
  EXPECT_EQ((TargetTime{"onednn", 18.94}).Text(), "onednn 18.9 (f32) ms");
  EXPECT_EQ((TargetTime{"onednn", {}, 2.64}).Text(), "onednn 2.64 (int8) ms");
  EXPECT_EQ((TargetTime{"onednn", 18.94, 2.64}).Least(), 2.64);
  EXPECT_TRUE(std::isinf(TargetTime{"onednn"}.Least()));
}

}  // namespace
}  // namespace msc::gym
