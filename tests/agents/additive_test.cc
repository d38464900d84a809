#include "agents/common/additive.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "agents/auto/auto_agent.h"
#include "agents/common/additive_model.h"
#include "agents/common/ranking.h"
#include "agents/ilp/ilp_agent.h"
#include "compiler/base/rng.h"
#include "gym/core/pareto.h"
#include "tests/agents/small_space.h"

namespace msc::agents {
namespace {

using gym::AdditiveCost;
using gym::Assignment;
using gym::Decision;

TEST(SolveAdditive, GivesTheValuesOfTheParetoSetOfAllAssignments) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    std::vector<AdditiveCost> costs;
    for (std::uint64_t k = 0; k <= seed % 3; ++k) costs.push_back(RandomCost(rng));
    std::vector<std::vector<double>> values;
    for (const Assignment& assignment : All(kDecisions)) {
      auto& row = values.emplace_back();
      for (const AdditiveCost& cost : costs) row.push_back(ValueOf(cost, assignment));
    }
    std::set<std::vector<double>> expected;
    for (const std::size_t i : gym::ParetoFront(values)) expected.insert(values[i]);
    const AdditiveFront front = SolveAdditive(costs, 1000);
    EXPECT_TRUE(front.exact);
    EXPECT_EQ(std::set(front.values.begin(), front.values.end()), expected) << seed;
    EXPECT_EQ(front.values.size(), expected.size());
    for (std::size_t i = 0; i < front.values.size(); ++i) {
      for (std::size_t k = 0; k < costs.size(); ++k) {
        EXPECT_EQ(ValueOf(costs[k], front.assignments[i]), front.values[i][k]);
      }
    }
  }
}

TEST(SolveAdditive, GivesTheMembersOfTheFrontWithinBounds) {
  std::size_t within_some = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const std::vector<AdditiveCost> costs = {RandomCost(rng), RandomCost(rng)};
    const AdditiveFront all = SolveAdditive(costs, 1000);
    // Between the values of the front, so that rounding decides nothing.
    const std::size_t middle = all.values.size() / 2;
    const double bound = middle == 0 ? all.values[0][1] - 0.5
                                     : (all.values[middle][1] + all.values[middle - 1][1]) / 2;
    std::vector<std::vector<double>> expected;
    for (const std::vector<double>& member : all.values) {
      if (member[1] <= bound) expected.push_back(member);
    }
    const double any = std::numeric_limits<double>::infinity();
    const AdditiveFront front = SolveAdditive(costs, 1000, std::array{any, bound});
    if (expected.empty()) {
      EXPECT_EQ(front.values, all.values) << "none is within, so all are of interest";
      continue;
    }
    EXPECT_EQ(front.values, expected) << seed;
    ++within_some;
  }
  EXPECT_GT(within_some, 40U);
}

TEST(SolveAdditive, IsAsFineAsThereIsRoomWithinBounds) {
  // The large effects alone leave few sums near the bound.
  AdditiveCost saved;
  AdditiveCost lost;
  for (int i = 0; i < 30; ++i) {
    saved.effects.push_back({0, -1.0 - 0.01 * i, -1.5});
    lost.effects.push_back({0, 0.05 + 0.001 * i, 50.0 + i});
  }
  const std::vector<AdditiveCost> costs = {saved, lost};
  const double any = std::numeric_limits<double>::infinity();
  const auto best = [](const AdditiveFront& front) {
    double least = 0;
    for (const std::vector<double>& member : front.values) {
      if (member[1] <= 1) least = std::min(least, member[0]);
    }
    return least;
  };
  const double exact = best(SolveAdditive(costs, 100000, std::array{any, 1.0}));
  const double within = best(SolveAdditive(costs, 64, std::array{any, 1.0}));
  EXPECT_LE(within, 0.98 * exact);
  EXPECT_LT(within, best(SolveAdditive(costs, 64)));
}

TEST(SolveAdditive, KeepsBothEndsWhenItHasNoRoomForAll) {
  const std::vector<AdditiveCost> costs = {
      {.offset = 0, .effects = {{0, 3}, {0, 2, 4}, {0}, {0, 1, 5, 9}}},
      {.offset = 0, .effects = {{3, 0}, {4, 2, 0}, {0}, {9, 5, 1, 0}}}};
  const AdditiveFront all = SolveAdditive(costs, 1000);
  ASSERT_GT(all.values.size(), 3U);
  const AdditiveFront some = SolveAdditive(costs, 3);
  EXPECT_FALSE(some.exact);
  EXPECT_LE(some.values.size(), 3U);
  EXPECT_EQ(some.values.front()[0], all.values.front()[0]);
  EXPECT_EQ(some.values.back()[1], all.values.back()[1]);
}

TEST(FitAdditive, FindsTheSumThatAllValuesCameFrom) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const AdditiveCost truth = RandomCost(rng);
    const auto all = All(kDecisions);
    std::vector<const Assignment*> at;
    std::vector<double> values;
    for (const Assignment& assignment : all) {
      at.push_back(&assignment);
      values.push_back(ValueOf(truth, assignment));
    }
    const std::vector<double> weights(all.size(), 1.0);
    const AdditiveCost fit = FitAdditive(kDecisions, all[5], at, values, weights);
    // The pull on 2 of 100 parts of a value's weight moves effects of at most 9 a little.
    for (const Assignment& assignment : all) {
      EXPECT_NEAR(ValueOf(fit, assignment), ValueOf(truth, assignment), 0.25) << seed;
    }
  }
}

TEST(FitAdditive, TakesSingleChangesAtTheirWord) {
  Rng rng(8);
  const AdditiveCost truth = RandomCost(rng);
  const Assignment base = {0, 0, 0, 0};
  std::vector<Assignment> changes = {base};
  for (std::size_t i = 0; i < base.size(); ++i) {
    for (std::int32_t c = 1; c < static_cast<std::int32_t>(kDecisions[i].choices.size()); ++c) {
      changes.push_back(base);
      changes.back()[i] = c;
    }
  }
  std::vector<const Assignment*> at;
  std::vector<double> values;
  for (const Assignment& change : changes) {
    at.push_back(&change);
    values.push_back(ValueOf(truth, change));
  }
  const AdditiveCost fit =
      FitAdditive(kDecisions, base, at, values, std::vector<double>(at.size(), 1.0));
  for (std::size_t i = 0; i < at.size(); ++i) {
    EXPECT_NEAR(ValueOf(fit, *at[i]), values[i], 0.5) << i;
  }
}

/// First choices change nothing, as in estimates; the others make less or more.
AdditiveCost RandomEffects(Rng& rng, double offset, double sign) {
  AdditiveCost cost = RandomCost(rng);
  cost.offset = offset;
  for (auto& effects : cost.effects) {
    for (double& effect : effects) effect *= sign;
    effects[0] = 0;
  }
  return cost;
}

AdditiveCost Times(AdditiveCost cost, double factor) {
  for (auto& effects : cost.effects) {
    for (double& effect : effects) effect *= factor;
  }
  return cost;
}

gym::TrialResult TrialResultOf(const std::vector<AdditiveCost>& truth, std::uint64_t trial,
                               const Assignment& assignment) {
  const double limit = ValueOf(truth[1], assignment);
  return {.trial = trial,
          .assignment = assignment,
          .objectives = {ValueOf(truth[0], assignment)},
          .constraints = {limit},
          .violation = std::max(limit, 0.0)};
}

TEST(AdditiveModel, ScalesEstimatesToResultsAndMendsThem) {
  Rng rng(21);
  const AdditiveCost truth = RandomEffects(rng, 40, -1);
  gym::AgentSetup setup{.decisions = kDecisions, .estimates = {Times(truth, 0.5)}};
  setup.estimates[0].effects[3][2] += 3;  // an error
  History history;
  std::uint64_t trial = 0;
  for (const Assignment& at : {Assignment{0, 0, 0, 0}, {1, 2, 0, 3}, {1, 1, 0, 1}}) {
    history.Add({.trial = trial++, .assignment = at, .objectives = {ValueOf(truth, at)}});
  }
  // Of what was never tried.
  const Assignment other = {0, 2, 0, 1};
  EXPECT_NEAR(AdditiveModel(setup, history).Expect(other).objectives[0], ValueOf(truth, other),
              0.15 * ValueOf(truth, other));
  const Assignment wrong = {0, 0, 0, 2};
  const double before = AdditiveModel(setup, history).Expect(wrong).objectives[0];
  history.Add({.trial = trial++, .assignment = wrong, .objectives = {ValueOf(truth, wrong)}});
  const double after = AdditiveModel(setup, history).Expect(wrong).objectives[0];
  EXPECT_LT(std::abs(after - ValueOf(truth, wrong)),
            0.3 * std::abs(before - ValueOf(truth, wrong)));
}

TEST(AdditiveModel, HasTheFrontOfAllObjectivesUnderItsConstraints) {
  std::size_t inner = 0;  // members that are not the best by the first objective
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    gym::AgentSetup setup{.decisions = kDecisions, .objectives = 2, .constraints = 1};
    for (int k = 0; k < 3; ++k) setup.costs.push_back(RandomCost(rng));
    setup.costs[2].offset = -12;
    const AdditiveModel model(setup, History());
    std::vector<std::vector<double>> feasible;
    for (const Assignment& assignment : All(kDecisions)) {
      const gym::TrialResult told = model.Expect(assignment);
      if (told.violation == 0) feasible.push_back(told.objectives);
    }
    std::set<std::vector<double>> expected;
    for (const std::size_t i : gym::ParetoFront(feasible)) expected.insert(feasible[i]);
    const auto front = model.Front(1000);
    EXPECT_TRUE(front.exact);
    std::set<std::vector<double>> found;
    for (const Assignment& member : front.assignments)
      found.insert(model.Expect(member).objectives);
    EXPECT_TRUE(std::includes(found.begin(), found.end(), expected.begin(), expected.end()))
        << seed;
    if (expected.empty()) continue;
    inner += expected.size() - 1;
    EXPECT_EQ(model.Expect(front.assignments[0]).objectives[0], (*expected.begin())[0]);
  }
  EXPECT_GT(inner, 20U);
}

TEST(AdditiveModel, SaysWhereItsFrontIsNotExact) {
  gym::AgentSetup setup{.decisions = kDecisions, .objectives = 2};
  setup.costs = {{.offset = 0, .effects = {{0, 3}, {0, 2, 4}, {0}, {0, 1, 5, 9}}},
                 {.offset = 0, .effects = {{3, 0}, {4, 2, 0}, {0}, {9, 5, 1, 0}}}};
  const AdditiveModel model(setup, History());
  EXPECT_TRUE(model.Front(1000).exact);
  EXPECT_FALSE(model.Front(2).exact);
}

TEST(AdditiveModel, TakesNoRoughValueForAResult) {
  Rng rng(21);
  const AdditiveCost truth = RandomCost(rng);
  const gym::AgentSetup setup{.decisions = kDecisions};
  History full;
  History both;
  std::uint64_t trial = 0;
  for (const Assignment& at : All(kDecisions)) {
    const bool rough = trial % 2 == 1;
    const gym::TrialResult told{.trial = trial++,
                                .assignment = at,
                                .objectives = {rough ? -1000 : ValueOf(truth, at)},
                                .rough = rough};
    both.Add(told);
    if (!rough) full.Add(told);
  }
  EXPECT_EQ(both.Best()->assignment, full.Best()->assignment);
  EXPECT_EQ(AdditiveModel(setup, both).costs(), AdditiveModel(setup, full).costs());
}

TEST(AdditiveModel, GoesByResultsNearALimitAndNotByLossesThatNoLongerGrow) {
  const gym::AgentSetup setup{
      .decisions = {{"a", {"0", "1", "2"}}, {"b", {"0", "1", "2"}}},
      .constraints = 1,
      .estimates = {{.offset = 1, .effects = {{0, -0.1, -0.2}, {0, -0.1, -0.2}}},
                    {.offset = -1, .effects = {{0, 0.2, 50}, {0, 0.3, 90}}}}};
  // Small losses are twice the estimates, and large ones a tenth.
  History history;
  const auto add = [&](const Assignment& at, double time, double loss) {
    history.Add({.trial = history.trials().size(),
                 .assignment = at,
                 .objectives = {time},
                 .constraints = {loss - 1},
                 .violation = std::max(loss - 1, 0.0)});
  };
  add({0, 0}, 1, 0);
  add({2, 2}, 0.6, 14);
  add({1, 0}, 0.9, 0.4);
  add({1, 1}, 0.8, 1.0);
  const AdditiveModel model(setup, history);
  EXPECT_NEAR(model.Expect({0, 1}).constraints[0], 0.6 - 1, 0.2);
  EXPECT_GT(model.Expect({2, 2}).constraints[0], 4);
}

TEST(ScaledToResults, HasAFactorForEachQuantity) {
  const std::vector<gym::Decision> decisions = {{"a", {"f32", "int8"}, "bits", {32, 8}},
                                                {"b", {"1", "0.5"}, "density", {1, 0.5}},
                                                {"c", {"f32", "int8"}, "bits", {32, 8}}};
  const AdditiveCost estimate{.offset = 1, .effects = {{0, -0.4}, {0, -0.1}, {0, -0.2}}};
  // Precisions save half of what was estimated, channels what was.
  const std::vector<Assignment> tried = {{1, 0, 0}, {0, 1, 0}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}};
  std::vector<const Assignment*> at;
  std::vector<double> values;
  for (const Assignment& each : tried) {
    at.push_back(&each);
    values.push_back(1 - 0.2 * each[0] - 0.1 * each[1] - 0.1 * each[2]);
  }
  const AdditiveCost scaled = ScaledToResults(decisions, estimate, at, values);
  EXPECT_NEAR(scaled.effects[0][1], -0.2, 0.02);
  EXPECT_NEAR(scaled.effects[1][1], -0.1, 0.02);
  EXPECT_NEAR(scaled.effects[2][1], -0.1, 0.02);
  const Assignment none = {0, 0, 0};
  const Assignment* const first = &none;
  EXPECT_EQ(ScaledToResults(decisions, estimate, {&first, 1}, std::vector<double>{1.0}), estimate);
}

TEST(ScaledNearLimit, HasAFactorForEachQuantity) {
  const std::vector<gym::Decision> decisions = {{"a", {"f32", "int8"}, "bits", {32, 8}},
                                                {"b", {"1", "0.5"}, "density", {1, 0.5}},
                                                {"c", {"1", "0.5"}, "density", {1, 0.5}}};
  const AdditiveCost estimate{.offset = -1, .effects = {{0, 0.4}, {0, 0.1}, {0, 0.2}}};
  // Precisions lose half of what was estimated, channels three times as much.
  const std::vector<Assignment> tried = {{1, 0, 0}, {0, 1, 0}, {1, 1, 1}, {0, 1, 1}};
  std::vector<const Assignment*> at;
  std::vector<double> values;
  for (const Assignment& each : tried) {
    at.push_back(&each);
    values.push_back(-1 + 0.2 * each[0] + 0.3 * each[1] + 0.6 * each[2]);
  }
  const auto [scaled, power] = ScaledNearLimit(decisions, estimate, at, values);
  EXPECT_EQ(power, 1);
  EXPECT_NEAR(scaled.effects[0][1], 0.2, 0.05);
  EXPECT_NEAR(scaled.effects[1][1], 0.3, 0.05);
  EXPECT_NEAR(scaled.effects[2][1], 0.6, 0.1);
}

TEST(ScaledNearLimit, KeepsAnEstimateOfWhichResultsTellNothing) {
  const std::vector<gym::Decision> decisions = {{"a", {"f32", "int8"}, "bits", {32, 8}},
                                                {"b", {"1", "0.5"}, "density", {1, 0.5}}};
  const AdditiveCost estimate{.offset = -1, .effects = {{0, 0.4}, {0, -0.1}}};
  const Assignment none = {0, 0};
  const Assignment both = {1, 1};
  const std::vector<const Assignment*> at = {&none, &both, &both};
  // Nothing changed; parts of both signs; a result that is as good as 0.
  EXPECT_EQ(ScaledNearLimit(decisions, estimate, at, std::vector<double>{-1, -0.7, -1 + 1e-16}),
            (LimitEstimate{estimate, 1}));
}

TEST(ScaledNearLimit, FindsThatALossIsAPowerOfASum) {
  // Shares of decisions that change, as found for EfficientNet-Lite0 in int8, and the estimates,
  // for a limit of 3 %.
  const std::vector<gym::Decision> decisions(4, {"a", {"f32", "int8"}, "bits", {32, 8}});
  const AdditiveCost estimate{.offset = -1,
                              .effects = {{0, 0.8}, {0, 0.12}, {0, 0.03}, {0, 0.0036}}};
  const std::vector<Assignment> tried = {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 1, 1}, {0, 0, 1, 1}};
  const std::vector<double> values = {-1, 3.1, 1.4, 0.96};
  std::vector<const Assignment*> at;
  for (const Assignment& each : tried) at.push_back(&each);
  const LimitEstimate found = ScaledNearLimit(decisions, estimate, at, values);
  EXPECT_EQ(found.power, 0.35);
  const double alone = std::pow(1 + ValueOf(found.cost, {0, 0, 0, 1}), found.power);
  EXPECT_NEAR(alone, 0.8, 0.2) << "what the last layer comes to";
}

TEST(ScaledNearLimit, TakesNoPowerOfWhatIsNotZeroAtFirst) {
  // A limit of the time, at half of f32's: the offset is 1, and results are as far off as before.
  const std::vector<gym::Decision> decisions(3, {"a", {"f32", "int8"}, "bits", {32, 8}});
  const AdditiveCost estimate{.offset = 1, .effects = {{0, -0.9}, {0, -0.1}, {0, -0.01}}};
  const std::vector<Assignment> tried = {{0, 0, 0}, {1, 1, 1}, {0, 1, 1}, {0, 0, 1}};
  const std::vector<double> values = {1, -0.2, 0.2, 0.5};
  std::vector<const Assignment*> at;
  for (const Assignment& each : tried) at.push_back(&each);
  EXPECT_EQ(ScaledNearLimit(decisions, estimate, at, values).power, 1);
}

TEST(Estimates, AreWhatIlpAndAutoBeginWith) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const std::vector<AdditiveCost> truth = {RandomEffects(rng, 40, -1),
                                             RandomEffects(rng, -12, 1)};
    const auto all = All(kDecisions);
    std::vector<gym::TrialResult> told;
    told.reserve(all.size());
    for (const Assignment& assignment : all) told.push_back(TrialResultOf(truth, 0, assignment));
    const gym::TrialResult& best = *std::min_element(told.begin(), told.end(), IsBetterTrial);
    gym::AgentSetup setup{.decisions = kDecisions,
                          .constraints = 1,
                          .seed = seed,
                          .first_trial = 2,
                          .anchors = {all.front(), all.back()},
                          .estimates = {Times(truth[0], 0.7), truth[1]}};
    for (const auto& make : {MakeIlpAgent, MakeAutoAgent}) {
      const auto agent = make(setup);
      agent->Tell(std::vector<gym::TrialResult>{TrialResultOf(truth, 0, all.front()),
                                                TrialResultOf(truth, 1, all.back())});
      double least = std::min(told.front().violation > 0 ? 1e9 : told.front().objectives[0],
                              told.back().violation > 0 ? 1e9 : told.back().objectives[0]);
      for (const Assignment& first : agent->Ask(2, 1)) {
        const gym::TrialResult result = TrialResultOf(truth, 2, first);
        if (result.violation == 0) least = std::min(least, result.objectives[0]);
      }
      EXPECT_LE(least, best.objectives[0] + 1e-9) << seed;
    }
  }
}

}  // namespace
}  // namespace msc::agents
