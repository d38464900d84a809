#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "agents/register.h"
#include "compiler/base/rng.h"
#include "gym/core/pareto.h"

// That agents search: with as many trials as are a small part of the space, each must do what
// random trials do not do with several times as many.

namespace msc::agents {
namespace {

using gym::Assignment;
using gym::TrialResult;

constexpr std::uint64_t kSeeds = 10;
constexpr std::size_t kDecisions = 10;  // of 3 choices: 59,049 assignments
constexpr std::size_t kTrials = 80;
constexpr std::size_t kForAnswer = 4 * kTrials;  // of random trials
constexpr std::size_t kForFront = 2 * kTrials;

/// Later choices of each decision take less time and lose more; neighbours that differ take time.
class Problem {
 public:
  Problem(std::uint64_t seed, bool limited) : limited_(limited) {
    Rng rng(MixSeed({seed, 77}));
    for (std::size_t i = 0; i < kDecisions; ++i) {
      setup_.decisions.push_back({"layer" + std::to_string(i), {"f32", "bf16", "int8"}});
      times_.push_back(0.2 + rng.Uniform());
      losses_.push_back(0.2 + rng.Uniform());
    }
    setup_.objectives = limited ? 1 : 2;
    setup_.constraints = limited ? 1 : 0;
    setup_.seed = seed;
    setup_.first_trial = 1;
    setup_.anchors = {Assignment(kDecisions, 0)};
  }

  [[nodiscard]] const gym::AgentSetup& setup() const { return setup_; }

  [[nodiscard]] TrialResult Try(std::uint64_t trial, const Assignment& assignment) const {
    double time = 0;
    double loss = 0;
    for (std::size_t i = 0; i < kDecisions; ++i) {
      time += (2 - assignment[i]) * times_[i];
      loss += assignment[i] * losses_[i];
      if (i > 0 && assignment[i] != assignment[i - 1]) time += 0.1;
    }
    TrialResult told{.trial = trial, .assignment = assignment, .objectives = {time}};
    if (!limited_) {
      told.objectives.push_back(loss);
      return told;
    }
    told.constraints = {loss / 5 - 1};
    told.violation = std::max(loss / 5 - 1, 0.0);
    return told;
  }

 private:
  bool limited_;
  gym::AgentSetup setup_;
  std::vector<double> times_;
  std::vector<double> losses_;
};

std::vector<TrialResult> Search(const std::string& name, const Problem& problem,
                                std::size_t trials) {
  AgentRegistry registry;
  RegisterAll(registry);
  const auto agent = registry.Make(name, problem.setup());
  std::vector<TrialResult> all = {problem.Try(0, problem.setup().anchors[0])};
  agent->Tell(all);
  while (all.size() < trials) {
    std::vector<TrialResult> told;
    for (const Assignment& proposal :
         agent->Ask(all.size(), std::min(agent->round().value_or(trials), trials - all.size()))) {
      told.push_back(problem.Try(all.size() + told.size(), proposal));
    }
    if (told.empty()) break;
    agent->Tell(told);
    all.insert(all.end(), told.begin(), told.end());
  }
  return all;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

/// The least time that keeps the limit; the first trial keeps it.
double Best(const std::vector<TrialResult>& trials) {
  double best = std::numeric_limits<double>::infinity();
  for (const TrialResult& told : trials) {
    if (told.violation == 0) best = std::min(best, told.objectives[0]);
  }
  return best;
}

/// What the front leaves below the worst of either objective, in shares of all.
double Missed(const std::vector<TrialResult>& trials, const Problem& problem) {
  const std::vector<double> reference = {
      1.01 * problem.Try(0, Assignment(kDecisions, 0)).objectives[0],
      1.01 * problem.Try(0, Assignment(kDecisions, 2)).objectives[1]};
  std::vector<std::vector<double>> points;
  for (const TrialResult& told : trials) points.push_back(told.objectives);
  return 1 - gym::Hypervolume(points, reference) / (reference[0] * reference[1]);
}

double MedianBest(const std::string& name, std::size_t trials) {
  std::vector<double> values;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    values.push_back(Best(Search(name, Problem(seed, true), trials)));
  }
  return Median(values);
}

double MedianMissed(const std::string& name, std::size_t trials) {
  std::vector<double> values;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Problem problem(seed, false);
    values.push_back(Missed(Search(name, problem, trials), problem));
  }
  return Median(values);
}

/// Returns the registered agents with one of `aims`, so that a new one is enrolled by itself.
std::vector<std::string> WithAim(const std::set<AgentAim>& aims) {
  AgentRegistry registry;
  RegisterAll(registry);
  std::vector<std::string> names;
  for (const std::string& name : registry.Names()) {
    if (aims.contains(AimOf(name))) names.push_back(name);
  }
  return names;
}

class SearchingAgent : public testing::TestWithParam<std::string> {};

TEST_P(SearchingAgent, FindsABetterAnswerThanFourTimesAsManyRandomTrials) {
  static const double threshold = MedianBest("random", kForAnswer);
  EXPECT_LT(MedianBest(GetParam(), kTrials), threshold);
}

INSTANTIATE_TEST_SUITE_P(All, SearchingAgent,
                         testing::ValuesIn(WithAim({AgentAim::kAnswer, AgentAim::kFront})),
                         [](const auto& test) { return test.param; });

class FrontAgent : public testing::TestWithParam<std::string> {};

TEST_P(FrontAgent, FindsAWiderFrontThanTwiceAsManyRandomTrials) {
  static const double threshold = MedianMissed("random", kForFront);
  EXPECT_LT(MedianMissed(GetParam(), kTrials), threshold);
}

INSTANTIATE_TEST_SUITE_P(All, FrontAgent, testing::ValuesIn(WithAim({AgentAim::kFront})),
                         [](const auto& test) { return test.param; });

TEST(AgentWithoutAim, DoesNotReachWhatIsAskedOfTheOthers) {
  for (const std::string& name : WithAim({AgentAim::kNothing})) {
    EXPECT_GT(MedianBest(name, kTrials), MedianBest("random", kForAnswer)) << name;
    EXPECT_GT(MedianMissed(name, kTrials), MedianMissed("random", kForFront)) << name;
  }
}

}  // namespace
}  // namespace msc::agents
