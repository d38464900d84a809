// What candidates cost, and who is asked: reference section 7.3, with its estimator in the place of
// the measuring child.
//
// C4 in part: the original keeps costs by structure alone, so that a function estimated for one
// target costs the same on another (5.7 where that one's estimator would say 13.3). Here a cost is
// kept by its target as well, in the compat mode of rules, too: that mode is about candidates.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/partition/search/lazy.h"
#include "compiler/partition/search/search.h"
#include "cost/partition/measure_candidates.h"

namespace msc::cost {
namespace {

constexpr const char* kUnary = R"(graph g {
  input %x : f32[4]
  %a = Abs(%x) @n3
  %b = Relu(%a) @n4
  %c = Relu(%b) @n5
  output %c
})";
constexpr const char* kTwice = R"(graph g {
  input %x : f32[4]
  input %y : f32[4]
  %a = Abs(%x) @n4
  %b = Relu(%a) @n5
  %c = Abs(%y) @n6
  %d = Relu(%c) @n7
  %e = Add(%b, %d) @n8
  output %e
})";
constexpr const char* kConcat = R"(graph g {
  input %x : f32[4]
  %a = Relu(%x) @n3
  %b = Relu(%a) @n4
  %c = Concat(%a, %b) @n6 {axis = 0}
  output %c
})";

Graph Parse(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

class Named final : public Target {
 public:
  explicit Named(std::string name) : facts_{std::move(name), "cpu", "1"} {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& /*graph*/, NodeId /*node*/) const override {
    return true;
  }
  TargetFacts facts_;
};

class CandidateCosts : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "candidate_costs_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    for (const char* name : {"mock3", "mock7", "never"}) {
      targets_.Add({.name = name, .options = {}, .make = [name](const OptionMap& /*options*/) {
                      return std::make_unique<Named>(name);
                    }});
    }
  }

  void Pose(const char* text) {
    source_ = std::make_unique<RegionSource>(Parse(text), Strategy{}, CompileOptions{});
    problem_ = {.flow = DataflowGraph(source_->graph())};
  }

  /// The candidate of these nodes, by name.
  std::size_t Add(const std::vector<std::string>& nodes, const std::string& target) {
    IndexSet inside(problem_.flow.size());
    for (const std::string& node : nodes) inside.Insert(problem_.flow.Find(node));
    problem_.candidates.push_back({.nodes = std::move(inside), .target = target});
    return problem_.candidates.size() - 1;
  }

  /// Costs of the candidates, and how many the child was asked for.
  RegionCosts::Counts Measure(const std::string& child = MSC_MOCK_REGION_CHILD) {
    RegionMeterOptions options;
    options.child = {child};
    options.lock_folder = testing::TempDir();
    options.scratch = folder_ + "/scratch";
    RegionMeter meter(*source_, options);
    RegionCosts costs(*source_, targets_, meter, folder_ + "/costs",
                      {.cpu = "c", .program = "p", .threads = 1, .timing = {}});
    MeasureCandidates(problem_, costs, {}, {});
    return costs.counts();
  }

  [[nodiscard]] const Cost& CostOf(std::size_t candidate) const {
    return problem_.candidates.at(candidate).cost;
  }

  TargetRegistry targets_;
  std::unique_ptr<RegionSource> source_;
  CoverProblem problem_;
  std::string folder_;
};

TEST_F(CandidateCosts, AreWhatTheEstimatorSays) {  // C1
  Pose(kUnary);
  const std::size_t two = Add({"n3", "n4"}, "mock3");
  EXPECT_EQ(Measure().measured, 1);
  EXPECT_NEAR(CostOf(two).micros(), 3 + 2.7, 1e-9);
}

TEST_F(CandidateCosts, ThatAreKnownAreNotAskedFor) {  // C2, as the search asks
  Pose(kUnary);
  const std::size_t known = Add({"n3", "n4"}, "mock3");
  problem_.candidates[known].cost = Cost::Micros(42);
  const std::size_t other = Add({"n5"}, "mock3");
  const Cover cover = FindCoverLazily(problem_, [&](std::span<const std::uint32_t> candidates) {
                        EXPECT_EQ(std::vector(candidates.begin(), candidates.end()),
                                  (std::vector{static_cast<std::uint32_t>(other)}));
                        return std::vector<Cost>{Cost::Micros(3)};
                      }).value();
  EXPECT_NEAR(cover.micros, 45, 1e-9);
}

TEST_F(CandidateCosts, ThatAreKeptAreNotAskedFor) {  // C2, as a study asks
  Pose(kUnary);
  const std::size_t two = Add({"n3", "n4"}, "mock3");
  EXPECT_EQ(Measure().measured, 1);
  problem_.candidates[two].cost = Cost::Unknown();
  const RegionCosts::Counts counts = Measure("/nowhere/child");
  EXPECT_EQ(counts.measured, 0);
  EXPECT_EQ(counts.found, 1);
  EXPECT_NEAR(CostOf(two).micros(), 5.7, 1e-9);
}

TEST_F(CandidateCosts, OfWhatATargetCallsInvalidAreInvalidAndTheSearchGoesOn) {  // C3
  Pose(kUnary);
  const std::size_t never = Add({"n3", "n4", "n5"}, "never");
  const std::size_t all = Add({"n3", "n4", "n5"}, "mock3");
  const RegionCosts::Counts counts = Measure();
  EXPECT_EQ(counts.measured, 2);
  EXPECT_EQ(counts.failed, 1);
  ASSERT_TRUE(CostOf(never).invalid());
  EXPECT_EQ(CostOf(never).reason(), "unsupported: invalid");
  const Cover cover = FindCover(problem_, "exact").value();
  EXPECT_EQ(cover.chosen, (std::vector{static_cast<std::uint32_t>(all)}));
  EXPECT_NEAR(cover.micros, 3 + 2.7 + 2.43, 1e-9);
}

TEST_F(CandidateCosts, OfOneStructureAreAskedForOnceATarget) {  // C4
  Pose(kTwice);
  const std::size_t first = Add({"n4", "n5"}, "mock3");
  const std::size_t second = Add({"n6", "n7"}, "mock3");
  const std::size_t other = Add({"n6", "n7"}, "mock7");
  const RegionCosts::Counts counts = Measure();
  EXPECT_EQ(counts.measured, 2) << "one for each target";
  EXPECT_EQ(counts.found, 1);
  EXPECT_NEAR(CostOf(first).micros(), 5.7, 1e-9);
  EXPECT_NEAR(CostOf(second).micros(), 5.7, 1e-9) << "known from its twin";
  EXPECT_NEAR(CostOf(other).micros(), 7 + 6.3, 1e-9) << "the original would say 5.7";
}

TEST_F(CandidateCosts, OfWhatJoinsSeveralValuesCountEachAsAnInput) {  // C5
  Pose(kConcat);
  const std::size_t concat = Add({"n6"}, "mock3");
  EXPECT_EQ(Measure().measured, 1);
  EXPECT_NEAR(CostOf(concat).micros(), 3, 1e-9);
  EXPECT_EQ(source_->Cut(std::vector<std::string>{"n6"}).inputs().size(), 2U)
      << "the fields one by one: there are no tuples";
}

}  // namespace
}  // namespace msc::cost
