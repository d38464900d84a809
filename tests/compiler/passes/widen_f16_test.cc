#include <gtest/gtest.h>

#include "compiler/ir/verifier.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/passes/support.h"

namespace msc {
namespace {

using testing::Parse;

// The Cast that keeps the type of %y comes before the CastLike of %z, another output, is replaced.
TEST(WidenF16, KeepsTypesAndNamesOfSeveralOutputs) {
  Graph graph = Parse(R"(graph main {
    input %x : f16[2,3]
    input %w : f32[2,3]
    %y = Neg(%x)
    %z = CastLike(%w, %x)
    output %y, %z
  })");
  EXPECT_TRUE(WidenF16(graph));
  Verify(graph);
  ASSERT_EQ(graph.outputs().size(), 2U);
  for (const ValueId id : graph.outputs()) EXPECT_EQ(graph.type(id).dtype, DType::kF16);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
  EXPECT_EQ(graph.value(graph.outputs()[1]).name, "z");
}

}  // namespace
}  // namespace msc
