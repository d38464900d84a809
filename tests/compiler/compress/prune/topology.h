#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "tests/compiler/compress/prune/support.h"

namespace msc::testing {

struct TopologyCase {
  std::string label;
  std::string body;    ///< between %x : f32[n,4,6,6] and the output %y
  std::string groups;  ///< what Describe says
};
inline void PrintTo(const TopologyCase& c, std::ostream* os) {
  *os << c.label;
}

inline Graph GraphOf(const TopologyCase& c) {
  return Parse("graph main {\n  input %x : f32[n,4,6,6]\n" + c.body + "  output %y\n}");
}

/// The end of a body, from the feature map %last with weights %wy on.
inline constexpr const char* kHead =
    "  %p = GlobalAveragePool(%last) @pool\n  %f = Flatten(%p) @flat\n"
    "  %y = Gemm(%f, %wy) @fc {transB = 1}\n";
inline constexpr const char* kOut = "fc fixed: 'y' is an output of the model\n";

/// Contract of a pattern; a suite names its cases.
class Topology : public ::testing::TestWithParam<TopologyCase> {};

TEST_P(Topology, HasTheGroupsThatItsShapesAllow) {
  EXPECT_EQ(Describe(GraphOf(GetParam())), GetParam().groups);
}

TEST_P(Topology, MaskedEqualsShrunkInEveryBit) {
  const Graph graph = GraphOf(GetParam());
  const PruneSpace space(graph);
  Rng rng(17);
  int tried = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const PrunePlan plan = RandomPlan(space, rng, 0.9);
    try {
      (void)KeptUnits(space, plan);
    } catch (const UserError&) {
      continue;  // a branch without channels
    }
    EXPECT_TRUE(MaskedEqualsShrunk(graph, plan, i));
    ++tried;
  }
  EXPECT_GE(tried, 4);
}

}  // namespace msc::testing
