#include "cost/quality/name_hints.h"

#include <gtest/gtest.h>

namespace msc::cost {
namespace {

TEST(HintOf, ReadsWordsFromTheirBeginning) {
  EXPECT_EQ(HintOf("logits"), NameHint::kClasses);
  EXPECT_EQ(HintOf("bodyPose"), NameHint::kNumbers);
  EXPECT_EQ(HintOf("model/depth:0"), NameHint::kNumbers);
  EXPECT_EQ(HintOf("seg_out"), NameHint::kMask);
  EXPECT_EQ(HintOf("1234"), NameHint::kNone);
  EXPECT_EQ(HintOf(""), NameHint::kNone);
}

TEST(HintOf, TakesTheLastOfSeveralWords) {
  EXPECT_EQ(HintOf("box_scores"), NameHint::kClasses);
  EXPECT_EQ(HintOf("class_embedding"), NameHint::kEmbedding);
}

TEST(HintOf, TakesNoOperatorForAWord) {
  for (const char* name : {"transpose_0.tmp_0", "Transpose_12", "depthwise_conv2d_3",
                           "depth_to_space", "DepthToSpace_5"}) {
    EXPECT_EQ(HintOf(name), NameHint::kNone) << name;
  }
}

}  // namespace
}  // namespace msc::cost
