#include "tests/fuzz/differential.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"
#include "tests/support/exact_int8.h"
#include "tests/support/random_model.h"
#include "tests/support/seeds.h"

namespace msc::fuzz {
namespace {

class Differential : public testing::Test {
 protected:
  Differential() { RegisterAllTargets(registry_); }

  /// Names of the targets that this machine can run.
  [[nodiscard]] std::vector<std::string> Present() const {
    std::vector<std::string> names;
    for (const auto& [name, kind] : registry_.kinds()) {
      try {
        (void)registry_.Get(name);
        names.push_back(name);
      } catch (const UserError&) {
        continue;  // the contract tests say why
      }
    }
    return names;
  }
  void ExpectAgreement(const Graph& graph, const Variant& variant) {
    EXPECT_EQ(Disagreement(graph, variant, registry_).value_or("agrees"), "agrees")
        << ToString(variant);
  }

  TargetRegistry registry_;
};

TEST_F(Differential, RandomModelsAreValidAndTheSameForASeed) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomModel(seed);
    EXPECT_NO_THROW(Verify(graph));
    EXPECT_FALSE(graph.outputs().empty());
    EXPECT_EQ(GraphHash(graph), GraphHash(RandomModel(seed)));
    for (const NodeId node : graph.order()) ++seen[graph.node(node).op];
  }
  EXPECT_GE(seen.size(), 35U) << "operators that the generator uses";
}

TEST_F(Differential, TargetsAgreeWithTheReferenceKernelsOnRandomModels) {
  for (const std::string& target : Present()) {
    // A compiler runs for every model of native.
    const std::uint64_t models = Seeds(target == "native" ? 8 : 100);
    for (std::uint64_t seed = 0; seed < models; ++seed) {
      SCOPED_TRACE("model " + std::to_string(seed));
      const Graph graph = RandomModel(seed);
      ExpectAgreement(graph, {.target = target});
      if (!IsExactInInt8(target)) continue;
      ExpectAgreement(graph, {.target = target, .precision_seed = seed + 1});
    }
  }
}

/// What failed once.
TEST_F(Differential, TargetsAgreeOnTheCorpus) {
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/differential")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    const Graph graph = LoadGraph(std::filesystem::path(entry.path()).replace_extension().string());
    for (const std::string& target : Present()) {
      ExpectAgreement(graph, {.target = target});
      if (!IsExactInInt8(target)) continue;
      ExpectAgreement(graph, {.target = target, .precision_seed = 1});
    }
  }
}

/// Relu, whose first element is one too large.
class WrongInOnePlace final : public Target {
 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override {
    return graph.node(id).Is("Relu");
  }
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& /*options*/,
                                                        ExecutableBuilder& builder) const override {
    const Graph& graph = *region.graph;
    for (const NodeId id : region.nodes) {
      const Node& node = graph.node(id);
      const BufferId from = builder.BufferOf(node.inputs[0]);
      const BufferId to = builder.BufferOf(node.outputs[0]);
      const auto count =
          static_cast<std::size_t>(ElementCount(*StaticDims(*graph.type(node.outputs[0]).shape)));
      const auto run = [from, to, count](const StepContext& context) {
        const auto* const x = reinterpret_cast<const float*>(context.At(from));
        auto* const y = reinterpret_cast<float*>(context.At(to));
        for (std::size_t i = 0; i < count; ++i) y[i] = std::max(x[i], 0.0F);
        y[0] += 1;
      };
      builder.AddStep({.name = node.name,
                       .target = facts_.name,
                       .nodes = {node.name},
                       .precision = "f32",
                       .reads = {from},
                       .writes = {to},
                       .run = run});
    }
    return std::nullopt;
  }
  TargetFacts facts_{.name = "wrong", .device = "cpu", .version = "1"};
};

TEST_F(Differential, SeesOneWrongElementOfANarrowModel) {
  registry_.Add(
      "wrong", +[]() -> std::unique_ptr<Target> { return std::make_unique<WrongInOnePlace>(); });
  Graph graph = ParseGraph(R"(graph g {
  input %x : f32[1,3,14,14]
  const %w : f32[8,3,3,3] = random 3
  const %s : f32[] = [0.1]
  %c = Conv(%x, %w) @conv {pads = [1, 1, 1, 1]}
  %d = Mul(%c, %s)
  %y = Relu(%d)
  output %y
})");
  InferTypes(graph);
  for (const std::uint64_t precisions : {1, 2, 3, 4}) {  // the precision of the layer is drawn
    const Variant variant{.target = "wrong", .precision_seed = precisions};
    EXPECT_NE(Disagreement(graph, variant, registry_), std::nullopt) << ToString(variant);
    ExpectAgreement(graph, {.target = "reference", .precision_seed = precisions});
  }
}

TEST(Shrinking, FindsTheOneNodeThatFails) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = RandomModel(seed, {.least_nodes = 6, .most_nodes = 14});
    const auto has_relu = [](const Graph& some) {
      return std::ranges::any_of(some.order(),
                                 [&](NodeId node) { return some.node(node).Is("Relu"); });
    };
    if (!has_relu(graph)) continue;
    const Graph small = Shrunk(graph, has_relu);
    EXPECT_NO_THROW(Verify(small));
    EXPECT_TRUE(has_relu(small));
    EXPECT_EQ(small.order().size(), 1U) << Print(small);
  }
}

}  // namespace
}  // namespace msc::fuzz
