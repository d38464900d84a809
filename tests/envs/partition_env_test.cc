#include "envs/partition/partition_env.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agents/register.h"
#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/search/search.h"
#include "gym/study/objective.h"
#include "tests/envs/cover_evaluator.h"
#include "tests/support/cover.h"
#include "tests/support/seeds.h"

namespace msc::envs {
namespace {

using gym::Assignment;
using test::AddCandidate;

/// Runs of up to `longest` nodes of a chain with a shortcut now and then, on three targets: each is
/// good at some of the nodes, and longer runs save a little.
CoverProblem RandomCover(std::size_t count, std::size_t longest, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::vector<int>> reads;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    reads.push_back({i - 1});
    if (i > 3 && rng.Below(3) == 0) reads.back().push_back(i - 3);
  }
  CoverProblem problem{.flow = test::Flow(reads)};
  for (const char* target : {"x", "y", "z"}) {
    std::vector<double> each(count);
    for (double& micros : each) micros = 10 + 30 * rng.Uniform();
    for (std::size_t begin = 0; begin < count; ++begin) {
      double sum = 0;
      std::vector<std::size_t> nodes;
      for (std::size_t end = begin; end < count; ++end) {
        sum += each[end] * (0.95 + 0.05 * rng.Uniform());
        nodes.push_back(end);
        if (nodes.size() <= longest || nodes.size() == count) {
          AddCandidate(problem, nodes, target, sum);
        }
      }
    }
  }
  return problem;
}

PartitionContext ContextOf(CoverProblem problem, cost::Evaluator* evaluator) {
  PartitionContext context;
  context.graph = std::make_shared<const Graph>();
  context.evaluator = evaluator;
  context.target = "x";
  context.cover = std::make_shared<const CoverProblem>(std::move(problem));
  return context;
}

double LatencyOf(gym::SearchProblem& problem, const Assignment& assignment) {
  double latency = -1;
  problem.Evaluate({&assignment, 1}, [&](std::size_t, const gym::Evaluation& evaluation) {
    if (!evaluation.failure) latency = 1e3 * evaluation.metrics.at("latency_ms");
  });
  return latency;
}

TEST(PartitionEnv, OffersEachNodeTheTargetsThatHaveACandidate) {
  CoverProblem cover{.flow = test::Chain(3)};
  AddCandidate(cover, {0}, "x", 2);
  AddCandidate(cover, {0, 1}, "x", 3);
  AddCandidate(cover, {1}, "y", 1);
  AddCandidate(cover, {2}, "y", 1);
  AddCandidate(cover, {1, 2}, "y", 2.5);
  AddCandidate(cover, {2}, "z", 9);
  cover.candidates.back().cost = Cost::Invalid("refused");
  CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover));
  const auto made = MakePartitionProblem(ContextOf(cover, &evaluator));
  gym::SearchProblem& problem = *made;
  ASSERT_EQ(problem.decisions().size(), 4U);
  EXPECT_EQ(problem.decisions()[0].name, "boundary_us");
  EXPECT_EQ(problem.decisions()[0].choices,
            (std::vector<std::string>{"0", "1", "3", "10", "30", "100", "1000", "1e+06"}));
  EXPECT_EQ(problem.decisions()[1].choices, (std::vector<std::string>{"x"}));
  EXPECT_EQ(problem.decisions()[2].choices, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(problem.decisions()[3].choices, (std::vector<std::string>{"y"}));
  EXPECT_DOUBLE_EQ(LatencyOf(problem, {0, 0, 1, 0}), 4) << "x on 0, y on 1 and on 2";
  EXPECT_DOUBLE_EQ(LatencyOf(problem, {2, 0, 1, 0}), 4.5) << "boundaries of 3 us join 1 and 2";
  EXPECT_DOUBLE_EQ(LatencyOf(problem, {0, 0, 0, 0}), 4);
  EXPECT_TRUE(problem.Anchors().empty()) << "no target takes all";
  const std::vector<gym::CoverPoint> front = problem.Prior().cover_front;
  ASSERT_EQ(front.size(), 1U) << "of two that cost 4 the one of fewer regions";
  EXPECT_EQ(front[0], (gym::CoverPoint{{0, 0, 0, 0}, 4, 1}));
}

TEST(PartitionEnv, ShowsWhatNodesCost) {
  CoverProblem cover{.flow = test::Chain(3)};
  AddCandidate(cover, {0}, "x", 2);
  AddCandidate(cover, {0, 1}, "x", 3);  // 1.5 each
  AddCandidate(cover, {1}, "y", 6);
  AddCandidate(cover, {2}, "y", 1);
  AddCandidate(cover, {1, 2}, "y", 9);
  AddCandidate(cover, {2}, "z", 3);
  CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover));
  const std::vector<std::vector<double>> rows =
      MakePartitionProblem(ContextOf(cover, &evaluator))->Prior().features;
  ASSERT_EQ(rows.size(), 4U);
  ASSERT_EQ(rows[0].size(), 6U);
  const std::vector<double> shares = {0, 1.5 / 4, 1.5 / 4, 1.0 / 4};
  // x alone has node 0; on node 1, y takes 4.5 instead of 1.5, on node 2, z 3 instead of 1.
  const std::vector<double> apart = {0, 0, 1, 2.0 / 3};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_DOUBLE_EQ(rows[i][3], shares[i]) << i;
    EXPECT_EQ(rows[i][4], 0) << i << ": all targets compute the same";
    EXPECT_DOUBLE_EQ(rows[i][5], apart[i]) << i;
  }
}

TEST(PartitionEnv, TakesThePricesThatTheContextLists) {
  CoverProblem cover{.flow = test::Chain(1)};
  AddCandidate(cover, {0}, "x", 2);
  CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover));
  PartitionContext context = ContextOf(cover, &evaluator);
  context.boundary_prices = {5, 2.5};
  EXPECT_EQ(MakePartitionProblem(context)->decisions()[0],
            (gym::Decision{"boundary_us", {"0", "2.5", "5"}, "boundary_us", {0, 2.5, 5}}));
  for (const std::vector<double>& wrong : {std::vector<double>{1, 1}, std::vector<double>{-1}}) {
    context.boundary_prices = wrong;
    EXPECT_THROW((void)MakePartitionProblem(context), UserError);
  }
}

TEST(PartitionEnv, RulesOutOnlyWhatNoCoverHas) {
  int ruled_out = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CoverProblem cover = RandomCover(5, 3, seed);
    // Targets that can compute some nodes only together with others.
    Rng rng(seed);
    std::erase_if(cover.candidates, [&](const CandidateRegion& candidate) {
      return candidate.target != "x" && candidate.nodes.Count() == 1 && rng.Below(2) == 0;
    });
    CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover));
    const auto made = MakePartitionProblem(ContextOf(cover, &evaluator));
    gym::SearchProblem& problem = *made;
    const auto has_cover = [&](const Assignment& given) {
      CoverProblem pinned = cover;
      for (std::size_t i = 1; i < given.size(); ++i) {
        pinned.conditions.pins[static_cast<FlowIndex>(i - 1)] = {
            problem.decisions()[i].choices[static_cast<std::size_t>(given[i])]};
      }
      return FindCover(pinned, "exact").ok();
    };
    for (int walk = 0; walk < 5; ++walk) {
      const Assignment legal = gym::DrawLegal(problem.decisions(), problem.MaskFunction(), rng);
      for (std::size_t i = 1; i < legal.size(); ++i) {
        const std::vector<bool> mask = problem.Mask(std::span(legal).first(i));
        for (std::size_t choice = 0; choice < mask.size(); ++choice) {
          Assignment given(legal.begin(), legal.begin() + static_cast<std::ptrdiff_t>(i));
          given.push_back(static_cast<std::int32_t>(choice));
          EXPECT_FALSE(!mask[choice] && has_cover(given)) << seed << " " << i << " " << choice;
          ruled_out += mask[choice] ? 0 : 1;
        }
      }
    }
  }
  EXPECT_GT(ruled_out, 50);
}

TEST(PartitionEnv, SaysWhatTheEvaluatorIsToRun) {
  class Listener final : public cost::Evaluator {
   public:
    Strategy heard;

   private:
    void DoEvaluate(std::span<const cost::Candidate> batch, const Done& done,
                    const std::function<bool()>& /*stop*/) override {
      heard = batch[0].strategy;
      done(0, Failure{FailureKind::kCrash, "signal 11"});
    }
  };
  Listener listener;
  CoverProblem cover{.flow = test::Chain(2)};
  for (const char* target : {"x", "y"}) {
    AddCandidate(cover, {0, 1}, target, 5);
    AddCandidate(cover, {0}, target, 2);
  }
  AddCandidate(cover, {1}, "x", 2);
  const auto made = MakePartitionProblem(ContextOf(cover, &listener));
  EXPECT_EQ(LatencyOf(*made, {0, 0, 0}), -1) << "it failed";
  EXPECT_EQ(listener.heard.target, "x");
  EXPECT_EQ(listener.heard.partition, (std::vector<PartitionRegion>{{{"n0"}, "x"}, {{"n1"}, "x"}}));
  LatencyOf(*made, {7, 1, 1});
  EXPECT_EQ(listener.heard.target, "y");
  EXPECT_TRUE(listener.heard.partition.empty()) << "the whole graph is no partition";
  EXPECT_EQ(made->Mask(std::vector<std::int32_t>{0, 0}), (std::vector<bool>{true, false}));
  EXPECT_THROW(LatencyOf(*made, {0, 0, 1}), UserError) << "y computes n1 only together with n0";
  EXPECT_EQ(made->Anchors().size(), 2U);
}

TEST(PartitionEnv, HasTheOptimumOfTheExactSearch) {
  for (std::uint64_t seed = 0; seed < Seeds(10); ++seed) {
    const CoverProblem cover = RandomCover(5, 3, seed);
    CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover));
    const auto made = MakePartitionProblem(ContextOf(cover, &evaluator));
    double best = std::numeric_limits<double>::infinity();
    for (std::int32_t number = 0; number < 243; ++number) {
      Assignment assignment = {0};
      for (std::int32_t rest = number, i = 0; i < 5; ++i, rest /= 3) assignment.push_back(rest % 3);
      best = std::min(best, LatencyOf(*made, assignment));
    }
    EXPECT_NEAR(best, FindCover(cover, "exact").value().micros, 1e-5) << seed;
    const std::vector<gym::CoverPoint> front = made->Prior().cover_front;
    EXPECT_NEAR(front.front().cost, best, 1e-5);
    for (const gym::CoverPoint& point : front) {
      EXPECT_NEAR(LatencyOf(*made, point.assignment), point.cost, 1e-5);
    }
    EXPECT_EQ(front.back().boundaries, 0) << "at the highest price one target takes all";
  }
}

TEST(PartitionEnv, RefusesWhatItCannotPose) {
  CoverProblem cover{.flow = test::Chain(2)};
  AddCandidate(cover, {0}, "x", 2);
  CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover));
  const auto why = [&] {
    try {
      (void)MakePartitionProblem(ContextOf(cover, &evaluator));
      return std::string("accepted");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(why(), "no target can compute node 'n1' (Op): none offers to");
  AddCandidate(cover, {1}, "x", 2);
  EXPECT_EQ(why(), "accepted");
  cover.candidates[0].cost = Cost::Unknown(1);
  EXPECT_NE(why().find("is unknown"), std::string::npos) << why();
  PartitionContext context = ContextOf(cover, &evaluator);
  context.cover = nullptr;
  EXPECT_THROW((void)MakePartitionProblem(context), UserError);
}

TEST(CoverEvaluator, SaysWhyAPlanHasNoCost) {
  CoverProblem cover{.flow = test::Flow({{-1}, {-1}, {0, 1}, {0, 1}})};
  AddCandidate(cover, {0, 3}, "x", 1);
  AddCandidate(cover, {1, 2}, "x", 1);
  CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover));
  const auto why = [&](std::vector<PartitionRegion> regions) {
    cost::Candidate candidate;
    candidate.strategy.target = "x";
    candidate.strategy.partition = std::move(regions);
    std::string detail;
    evaluator.Evaluate({&candidate, 1}, [&](std::size_t, const Result<cost::Outcome>& outcome) {
      detail = outcome.ok() ? "ok" : outcome.failure().detail;
    });
    return detail;
  };
  EXPECT_EQ(why({{{"n9"}, "x"}}), "there is no node 'n9'");
  EXPECT_EQ(why({{{"n0"}, "x"}}), "the cost of x on {0} is unknown");
  EXPECT_EQ(why({}), "the cost of x on {0..3} is unknown");
  EXPECT_EQ(why({{{"n0", "n3"}, "x"}}), "node 'n1' is not covered");
  EXPECT_NE(why({{{"n0", "n3"}, "x"}, {{"n1", "n2"}, "x"}}), "ok") << "they wait for each other";
}

/// The least latency that an agent finds in so many trials, after the problem's anchors.
double BestOf(const std::string& name, gym::SearchProblem& problem, std::size_t trials,
              std::uint64_t seed) {
  const gym::Objective objective{{"latency"}, {}};
  agents::AgentRegistry registry;
  agents::RegisterAll(registry);
  const gym::AgentSetup setup = gym::AgentSetupFor(problem, objective, seed);
  const auto agent = registry.Make(name, setup);
  double best = std::numeric_limits<double>::infinity();
  const auto try_all = [&](std::span<const Assignment> batch, std::uint64_t first) {
    std::vector<gym::TrialResult> told(batch.size());
    problem.Evaluate(batch, [&](std::size_t i, const gym::Evaluation& evaluation) {
      told[i] = {.trial = first + i, .assignment = batch[i], .objectives = {}};
      told[i].failed = evaluation.failure.has_value();
      if (told[i].failed) return;
      told[i].objectives = gym::ObjectiveValues(objective, evaluation);
      best = std::min(best, told[i].objectives[0]);
    });
    agent->Tell(told);
  };
  try_all(setup.anchors, 0);
  for (std::size_t done = 0; done < trials;) {
    const std::size_t count = std::min(trials - done, agent->round().value_or(4));
    const std::vector<Assignment> batch = agent->Ask(setup.first_trial + done, count);
    if (batch.empty()) break;
    try_all(batch, setup.first_trial + done);
    done += batch.size();
  }
  return best;
}

TEST(CollageAgent, IsNeverWorseThanAgentsThatKnowNoCovers) {
  int better = 0;
  int cases = 0;
  for (std::uint64_t seed = 0; seed < Seeds(4); ++seed) {
    const CoverProblem cover = RandomCover(24, 4, seed);
    // Boundaries cost what nobody is told.
    for (const double boundary : {0.0, 2.0, 20.0}) {
      CoverEvaluator evaluator(std::make_shared<const CoverProblem>(cover), boundary);
      const auto made = MakePartitionProblem(ContextOf(cover, &evaluator));
      for (const std::size_t trials : {8U, 40U}) {
        const double collage = BestOf("collage", *made, trials, seed);
        for (const char* other : {"random", "evolution"}) {
          const double best = BestOf(other, *made, trials, seed);
          EXPECT_LE(collage, best + 1e-12) << other << " " << seed << " " << boundary;
          better += collage < best - 1e-12 ? 1 : 0;
          ++cases;
        }
      }
      if (boundary == 0) {
        const double optimum = FindCover(cover, "exact").value().micros;
        double whole = std::numeric_limits<double>::infinity();
        for (const CandidateRegion& candidate : cover.candidates) {
          if (candidate.nodes.Count() == cover.flow.size()) {
            whole = std::min(whole, candidate.cost.micros());
          }
        }
        for (const char* knowing : {"collage", "auto"}) {
          EXPECT_NEAR(BestOf(knowing, *made, 1, seed), optimum / whole, 1e-6)
              << knowing << ": the first trial is the optimum where costs add up";
        }
      }
    }
  }
  RecordProperty("better", better);
  EXPECT_GT(2 * better, cases) << "and mostly better";
}

}  // namespace
}  // namespace msc::envs
