#include "gym/app/sized_model.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "gym/search/model.h"

namespace msc::gym {
namespace {

class SizedModelTest : public testing::Test {
 protected:
  SizedModelTest() {
    // Sizes that are known fold %s: the two graphs have different nodes.
    Graph graph = ParseGraph(R"(graph net {
      input %x : f32[n,3,h,w]
      const %w : f32[4,3,1,1] = random 1
      %s = Shape(%x) @sizes
      %c = Conv(%x, %w) @conv
      %y = Relu(%c) @relu
      output %y
      output %s
    })");
    InferTypes(graph);
    SaveGraph(graph, stem_);
    made_.model_hash = GraphHash(LoadModel(path_));
  }

  const std::string stem_ = testing::TempDir() + "sized_model" + std::to_string(::getpid());
  const std::string path_ = stem_ + ".json";
  const std::vector<std::string> shapes_ = {"x=2x3x8x6"};
  Strategy made_;  ///< with open sizes
};

TEST_F(SizedModelTest, StaysOpenForAStrategyThatWasMadeWithOpenSizes) {
  const SizedModel model = LoadModelFor(path_, shapes_, made_);
  EXPECT_EQ(GraphHash(model.graph), made_.model_hash);
  EXPECT_EQ(model.sizes, (ShapeBindings{{"n", 2}, {"h", 8}, {"w", 6}}));
  EXPECT_NO_THROW((void)ApplyStrategy(model.graph, made_));
  EXPECT_EQ(BindingsOf(model, {}), model.sizes);
  EXPECT_EQ(BindingsOf(model, 2), model.sizes);
  EXPECT_EQ(BatchOf(model.graph, model.sizes), 2);
  try {
    (void)BindingsOf(model, 4);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "--batch 4 differs from the 2 of --shape; leave one of them out");
  }
}

TEST_F(SizedModelTest, HasTheSizesInAllOtherCases) {
  Strategy of_sizes;
  of_sizes.model_hash = GraphHash(LoadModel(path_, shapes_));
  EXPECT_NE(of_sizes.model_hash, made_.model_hash);
  Strategy of_another = made_;
  of_another.model_hash[0] = of_another.model_hash[0] == '0' ? '1' : '0';
  for (const Strategy& strategy : {of_sizes, of_another, Strategy()}) {
    const SizedModel model = LoadModelFor(path_, shapes_, strategy);
    EXPECT_EQ(GraphHash(model.graph), of_sizes.model_hash);
    EXPECT_TRUE(model.sizes.empty());
    EXPECT_EQ(BatchOf(model.graph, BindingsOf(model, {})), 2);
  }
  const SizedModel open = LoadModelFor(path_, {}, made_);
  EXPECT_EQ(GraphHash(open.graph), made_.model_hash);
  EXPECT_EQ(BindingsOf(open, 5), (ShapeBindings{{"n", 5}}));
}

}  // namespace
}  // namespace msc::gym
