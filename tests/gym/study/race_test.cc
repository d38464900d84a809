#include "gym/study/race.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/ranks.h"
#include "compiler/base/rng.h"
#include "gym/study/study.h"
#include "tests/gym/study/fake_problem.h"
#include "tests/gym/study/sim_file.h"

namespace msc::gym {
namespace {

using testing::FreeAgent;
using testing::SetupFor;
using testing::SimDisk;
using testing::SimFile;

/// Three decisions of four choices, a size that is always seen exactly unless `blind`, and a cost
/// for each assignment. What is rough is off by up to `error`, and on the first fidelity by up to
/// `first_error`, by the assignment; where its first choice is 3 and the last 0, it fails in the
/// rough.
class NoisyProblem final : public SearchProblem {
 public:
  double error = 0;
  double first_error = 0;
  std::size_t ways = 2;
  bool some_fail = false;
  bool blind = false;     // rough sizes are all 1, as accuracy on few samples may be
  bool one_size = false;  // so are full ones
  PriorKnowledge prior;
  std::multiset<Assignment> rough_tried;  // on the first fidelity
  std::multiset<Assignment> tried_again;  // on the second
  std::multiset<Assignment> tried;

  static double Uniform(const Assignment& a, std::uint64_t tag) {
    return Rng(MixSeed({tag, static_cast<std::uint64_t>(a[0] + 4 * a[1] + 16 * a[2])})).Uniform();
  }
  static double Cost(const Assignment& a) { return Uniform(a, 1); }
  [[nodiscard]] bool Fails(const Assignment& a) const {
    return some_fail && a[0] == 3 && a[2] == 0;
  }

 private:
  const std::vector<Decision>& DoDecisions() const override { return decisions_; }
  std::vector<std::string> DoMetrics() const override { return {"cost", "size"}; }
  std::size_t DoFidelities() const override { return ways; }
  std::string DoDescribe(const Assignment& a) const override {
    return ChoicesAsJson(decisions_, a);
  }
  std::string DoHash() const override { return "noisy"; }
  PriorKnowledge DoPrior() const override { return prior; }
  void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !stop(); ++i) {
      tried.insert(batch[i]);
      done(i, Result(batch[i], 0, one_size));
    }
  }
  void DoEvaluateRoughly(std::size_t fidelity, std::span<const Assignment> batch, const Done& done,
                         const std::function<bool()>& stop) override {
    for (std::size_t i = batch.size(); i-- > 0 && !stop();) {
      (fidelity == 0 ? rough_tried : tried_again).insert(batch[i]);
      done(i, Result(batch[i], fidelity == 0 ? error + first_error : error, one_size || blind));
    }
  }
  [[nodiscard]] Evaluation Result(const Assignment& a, double off, bool same_size) const {
    if (Fails(a)) return {.metrics = {}, .failure = Failure{}, .record = ""};
    return {.metrics = {{"cost", Cost(a) + off * Uniform(a, 2)},
                        {"size", same_size ? 1.0 : 1.0 + a[0]}},
            .failure = std::nullopt,
            .record = ""};
  }

  std::vector<Decision> decisions_ = {
      {"a", {"0", "1", "2", "3"}}, {"b", {"0", "1", "2", "3"}}, {"c", {"0", "1", "2", "3"}}};
};

StudyOptions Options(std::uint64_t trials) {
  StudyOptions options;
  options.trials = trials;
  options.objective = {.minimize = {"cost"}, .subject_to = {{"size", 3}}};
  return options;
}

struct Race {
  StudyResult result;
  std::vector<std::string> said;
  bool racing = true;
};

Race Hold(NoisyProblem& inner, SimDisk& disk, std::uint64_t trials,
          const std::function<bool()>& stop = {}) {
  Race race;
  const StudyOptions options = Options(trials);
  RacingProblem problem(inner, options.objective, {},
                        [&](const std::string& text) { race.said.push_back(text); });
  // In rounds, as most agents ask.
  class Rounds final : public Agent {
   public:
    explicit Rounds(const AgentSetup& setup) : Agent(setup), free_(setup) {}

   private:
    std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
      return free_.Ask(first, count);
    }
    std::optional<std::size_t> DoRound() const override { return 4; }
    FreeAgent free_;
  };
  Rounds agent(SetupFor(problem, 7));
  Journal journal(std::make_unique<SimFile>(disk));
  race.result = RunStudy(problem, agent, journal, options, {}, stop);
  race.racing = problem.racing();
  return race;
}

TEST(RankCorrelation, IsThatOfRanks) {
  const std::vector<double> rising = {1, 2, 30, 400};
  const std::vector<double> falling = {4, 3, 2, 0};
  const std::vector<double> mixed = {1, 3, 2, 4};
  const std::vector<double> tied = {1, 1, 2, 2};
  EXPECT_DOUBLE_EQ(*RankCorrelation(rising, rising), 1);
  EXPECT_DOUBLE_EQ(*RankCorrelation(rising, falling), -1);
  EXPECT_DOUBLE_EQ(*RankCorrelation(rising, mixed), 0.8) << "1 - 6 * 2 / (4 * 15)";
  EXPECT_DOUBLE_EQ(*RankCorrelation(rising, tied), 4 / std::sqrt(20.0)) << "by hand";
  EXPECT_FALSE(RankCorrelation(rising, std::vector<double>(4, 7)));
}

TEST(Race, FindsTheBestWithAPartOfTheFullEvaluations) {
  NoisyProblem problem;
  problem.error = 0.05;
  SimDisk disk;
  const Race race = Hold(problem, disk, 150);
  EXPECT_TRUE(race.racing);
  EXPECT_TRUE(race.said.empty());
  EXPECT_EQ(race.result.trials.size(), 150U);
  EXPECT_LT(problem.tried_again.size(), problem.rough_tried.size() * 6 / 10);
  EXPECT_LT(problem.tried.size(), problem.tried_again.size());
  EXPECT_GT(problem.tried.size(), 10U);
  double least = 1;
  for (const Assignment& a : problem.rough_tried) {
    if (a[0] < 3) least = std::min(least, NoisyProblem::Cost(a));
  }
  ASSERT_TRUE(race.result.best);
  EXPECT_EQ(NoisyProblem::Cost(race.result.trials[*race.result.best].assignment), least);
}

TEST(Race, DropsWhatIsAmongTheWorseAndLeavesItOutOfBestAndFront) {
  NoisyProblem problem;
  SimDisk disk;
  const Race race = Hold(problem, disk, 120);
  std::size_t dropped = 0;
  for (const Trial& trial : race.result.trials) {
    const Evaluation& evaluation = trial.evaluation;
    ASSERT_EQ(evaluation.rough_metrics.size(), 2U);
    EXPECT_FALSE(evaluation.rough_metrics[0].empty());
    EXPECT_EQ(evaluation.rough_metrics[1].empty(), !problem.tried_again.contains(trial.assignment));
    EXPECT_EQ(evaluation.dropped, !problem.tried.contains(trial.assignment));
    dropped += evaluation.dropped ? 1 : 0;
    if (!evaluation.dropped) continue;
    EXPECT_GE(trial.number, 10U) << "the first are evaluated all ways";
    EXPECT_FALSE(IsFeasible(Options(1).objective, trial));
    EXPECT_EQ(evaluation.rough_metrics[0].at("cost"), evaluation.metrics.at("cost"));
  }
  EXPECT_GT(dropped, 40U);
  for (const std::size_t i : race.result.pareto) {
    EXPECT_FALSE(race.result.trials[i].evaluation.dropped);
  }
}

TEST(Race, EndsAndSaysSoWhereRoughRanksMeanNothing) {
  NoisyProblem problem;
  problem.error = 1000;
  SimDisk disk;
  const Race race = Hold(problem, disk, 100);
  EXPECT_FALSE(race.racing);
  ASSERT_EQ(race.said.size(), 2U);
  EXPECT_TRUE(race.said[0].starts_with(
      "candidates skip stage 1 of the race: the rank correlation of rough and full 'cost' is"))
      << race.said[0];
  EXPECT_TRUE(race.said[1].starts_with("the race is over: ")) << race.said[1];
  EXPECT_LE(problem.rough_tried.size(), 20U);
  for (const Trial& trial : race.result.trials) EXPECT_FALSE(trial.evaluation.dropped);
}

TEST(Race, EndsWhereALimitedMetricIsAlwaysTheSameInTheRoughAndNotInFull) {
  NoisyProblem problem;
  problem.blind = true;
  SimDisk disk;
  const Race race = Hold(problem, disk, 100);
  EXPECT_FALSE(race.racing);
  EXPECT_EQ(race.said,
            (std::vector<std::string>{"candidates skip stage 1 of the race: 'size' is constant in "
                                      "rough results but differs in full ones, over 10 results",
                                      "the race is over: 'size' is constant in rough results but "
                                      "differs in full ones, over 10 results"}));
  for (const Trial& trial : race.result.trials) EXPECT_FALSE(trial.evaluation.dropped);
}

TEST(Race, GoesOnWhereAMetricIsTheSameEitherWay) {
  NoisyProblem problem;
  problem.blind = true;
  problem.one_size = true;
  SimDisk disk;
  const Race race = Hold(problem, disk, 100);
  EXPECT_TRUE(race.racing);
  EXPECT_TRUE(race.said.empty());
}

TEST(Race, TellsAgentsWhatIsRough) {
  NoisyProblem problem;
  SimDisk disk;
  const Race race = Hold(problem, disk, 120);
  std::size_t rough = 0;
  for (const Trial& trial : race.result.trials) {
    const TrialResult told = TrialResultOf(Options(1).objective, trial);
    EXPECT_EQ(told.rough, trial.evaluation.dropped);
    EXPECT_EQ(told.Complete(), trial.evaluation.Complete());
    EXPECT_EQ(told.objectives.at(0), trial.evaluation.metrics.at("cost"));
    rough += told.rough ? 1 : 0;
  }
  EXPECT_GT(rough, 40U);
}

TEST(Race, GoesOnWithoutARungWhoseRanksMeanNothing) {
  NoisyProblem problem;
  problem.error = 0.05;
  problem.first_error = 1000;
  SimDisk disk;
  const Race race = Hold(problem, disk, 120);
  EXPECT_TRUE(race.racing);
  ASSERT_EQ(race.said.size(), 1U);
  EXPECT_TRUE(race.said[0].starts_with("candidates skip stage 1")) << race.said[0];
  EXPECT_LE(problem.rough_tried.size(), 20U);
  EXPECT_LT(problem.tried.size(), problem.tried_again.size() * 6 / 10);
  for (const Trial& trial : race.result.trials) {
    if (trial.number < 20 || trial.repeated) continue;
    ASSERT_EQ(trial.evaluation.rough_metrics.size(), 2U);
    EXPECT_TRUE(trial.evaluation.rough_metrics[0].empty());
    EXPECT_FALSE(trial.evaluation.rough_metrics[1].empty());
  }
}

TEST(Race, CountsAFailureInTheRoughAsFailed) {
  NoisyProblem problem;
  problem.some_fail = true;
  SimDisk disk;
  const Race race = Hold(problem, disk, 100);
  for (const Trial& trial : race.result.trials) {
    EXPECT_EQ(trial.evaluation.failure.has_value(), problem.Fails(trial.assignment));
    EXPECT_FALSE(trial.evaluation.failure && problem.tried.contains(trial.assignment));
  }
}

TEST(Race, GoesOnAsItWasWhenItIsResumed) {
  struct Errors {
    double first;
    double all;
  };
  for (const Errors& errors : {Errors{0, 0.05}, Errors{0, 1000}, Errors{1000, 0.05}}) {
    NoisyProblem whole_problem;
    whole_problem.first_error = errors.first;
    whole_problem.error = errors.all;
    SimDisk whole_disk;
    const Race whole = Hold(whole_problem, whole_disk, 100);
    NoisyProblem problem;
    problem.first_error = errors.first;
    problem.error = errors.all;
    SimDisk disk;
    for (const std::uint64_t trials : {8, 12, 40, 100}) {
      const Race race = Hold(problem, disk, trials);
      for (std::size_t i = 0; i < trials; ++i) {
        EXPECT_EQ(race.result.trials[i].assignment, whole.result.trials[i].assignment);
        EXPECT_EQ(race.result.trials[i].evaluation, whole.result.trials[i].evaluation) << i;
      }
    }
  }
}

TEST(Race, RefusesToRecallWhatNoSuchRaceLeaves) {
  NoisyProblem inner;
  const Assignment assignment = {0, 0, 0};
  const std::map<std::string, double> all = {{"cost", 1}, {"size", 1}};
  using RoughMetrics = std::vector<std::map<std::string, double>>;
  const auto recall = [&](const RoughMetrics& rough_metrics,
                          const std::map<std::string, double>& metrics) {
    RacingProblem problem(inner, Options(1).objective, {}, {});
    problem.Recall(assignment, {.metrics = metrics,
                                .failure = std::nullopt,
                                .record = "",
                                .rough_metrics = rough_metrics,
                                .dropped = false});
  };
  EXPECT_NO_THROW(recall({all, all}, all));
  EXPECT_NO_THROW(recall({{}, all}, all));
  EXPECT_NO_THROW(recall({}, all));
  EXPECT_THROW(recall({all, all, all}, all), UserError);
  EXPECT_THROW(recall({all}, all), UserError);
  EXPECT_THROW(recall({{{"cost", 1}}, all}, all), UserError);
  EXPECT_THROW(recall({all, all}, {{"size", 1}}), UserError);
}

TEST(Race, KnowsBeforehandWhatTheProblemKnows) {
  NoisyProblem inner;
  inner.prior.relevance = {3, 0, 1};
  inner.prior.compute_bounds = [] { return std::map<std::string, double>{{"size", 1}}; };
  const RacingProblem problem(inner, Options(1).objective, {}, [](const std::string&) {});
  const PriorKnowledge prior = problem.Prior();
  EXPECT_EQ(prior.relevance, inner.prior.relevance);
  EXPECT_EQ(prior.LowerBounds().at("size"), 1);
}

TEST(Race, RefusesAProblemThatHasNothingRough) {
  NoisyProblem problem;
  problem.ways = 0;
  EXPECT_THROW(RacingProblem(problem, Options(1).objective, {}, {}), UserError);
}

}  // namespace
}  // namespace msc::gym
