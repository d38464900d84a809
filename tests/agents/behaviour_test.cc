#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "agents/common/method.h"
#include "agents/evolution/evolution_method.h"
#include "agents/gp/gp_method.h"
#include "agents/register.h"
#include "agents/tpe/tpe_method.h"
#include "compiler/base/rng.h"

// What is special about each agent.

namespace msc::agents {
namespace {

using gym::AgentSetup;
using gym::Assignment;
using gym::TrialResult;

using Value = std::function<double(const Assignment&)>;

std::vector<gym::Decision> Decisions(std::size_t count, std::size_t choices) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < choices; ++i) names.push_back(std::to_string(i));
  std::vector<gym::Decision> decisions;
  for (std::size_t i = 0; i < count; ++i) decisions.push_back({"d" + std::to_string(i), names});
  return decisions;
}

std::unique_ptr<gym::Agent> Make(const std::string& name, const AgentSetup& setup) {
  AgentRegistry registry;
  RegisterAll(registry);
  return registry.Make(name, setup);
}

TrialResult Try(std::uint64_t trial, const Assignment& at, const Value& objective,
                const Value& excess) {
  TrialResult told{.trial = trial, .assignment = at, .objectives = {objective(at)}};
  if (!excess) return told;
  told.constraints = {excess(at)};
  told.violation = std::max(told.constraints[0], 0.0);
  return told;
}

/// `trials` trials from the first on, by whole rounds.
std::vector<TrialResult> Searched(const std::string& name, const AgentSetup& setup,
                                  std::size_t trials, const Value& objective,
                                  const Value& excess = {}) {
  const auto agent = Make(name, setup);
  std::vector<TrialResult> all;
  while (all.size() < trials) {
    std::vector<TrialResult> told;
    for (const Assignment& proposal : agent->Ask(all.size(), *agent->round())) {
      told.push_back(Try(all.size() + told.size(), proposal, objective, excess));
    }
    agent->Tell(told);
    all.insert(all.end(), told.begin(), told.end());
  }
  return all;
}

double Sum(const Assignment& at) {
  double sum = 0;
  for (const std::int32_t choice : at) sum += choice;
  return sum;
}

bool Tried(const std::vector<TrialResult>& trials, const Assignment& at) {
  return std::any_of(trials.begin(), trials.end(),
                     [&](const TrialResult& told) { return told.assignment == at; });
}

TEST(Greedy, TakesBackWhatDidNotHelpOnTopOfTheRest) {
  // Each of the first three helps alone; the first two do harm together.
  const Value objective = [](const Assignment& at) {
    return 10 - 4.0 * at[0] - 3 * at[1] - 2 * at[2] + 8 * at[0] * at[1] + Sum(at);
  };
  // The start, each change, the first two together, and what comes of that.
  const auto trials = Searched("greedy", {.decisions = Decisions(8, 2), .seed = 1}, 11, objective);
  EXPECT_TRUE(Tried(trials, {1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(Tried(trials, {1, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(Tried(trials, {1, 1, 1, 0, 0, 0, 0, 0}));
}

/// What most of a round's proposals have: each is one change away from where the walk stands.
Assignment Centre(std::span<const TrialResult> round) {
  Assignment centre(round[0].assignment.size());
  for (std::size_t i = 0; i < centre.size(); ++i) {
    int ones = 0;
    for (const TrialResult& told : round) ones += told.assignment[i];
    centre[i] = 2 * ones > static_cast<int>(round.size()) ? 1 : 0;
  }
  return centre;
}

TEST(Annealing, TakesWorseStepsEarlyAndHardlyAnyLate) {
  int early = 0;
  int late = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng(MixSeed({seed, 4}));
    std::vector<double> weights;
    for (int i = 0; i < 30; ++i) weights.push_back(rng.Uniform());
    const Value objective = [&](const Assignment& at) {
      double sum = 0;
      for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * weights[i];
      return sum;
    };
    const auto trials =
        Searched("annealing", {.decisions = Decisions(30, 2), .seed = seed}, 800, objective);
    double before = std::numeric_limits<double>::infinity();
    for (std::size_t round = 1; round < 200; ++round) {
      const double now = objective(Centre(std::span(trials).subspan(4 * round, 4)));
      if (now > before && round < 30) ++early;
      if (now > before && round >= 170) ++late;
      before = now;
    }
  }
  EXPECT_GE(early, 50);
  EXPECT_LE(late, early / 5);
}

TEST(Bisection, TakesAboutTheLogarithmOfItsChoicesForEachDecision) {
  const Value objective = [](const Assignment& at) { return 1000 - Sum(at); };
  const Value excess = [](const Assignment& at) {
    return (3.0 * at[0] + 2.0 * at[1] + 5.0 * at[2] - 270.5) / 270.5;
  };
  // 6 halvings of 64 choices in each of 3 decisions, twice, and 8 of the steps of all before.
  constexpr std::size_t kTrials = 2 * 3 * 6 + 8 + 2;
  const auto trials = Searched("bisection", {.decisions = Decisions(3, 64), .constraints = 1},
                               kTrials, objective, excess);
  TrialResult best = trials[0];
  for (const TrialResult& told : trials) {
    if (told.violation < best.violation ||
        (told.violation == best.violation && told.objectives < best.objectives)) {
      best = told;
    }
  }
  EXPECT_EQ(best.violation, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    Assignment further = best.assignment;
    if (++further[i] == 64) continue;
    EXPECT_GT(excess(further), 0) << i;
  }
}

TEST(Bisection, TakesARoughResultForNoProof) {
  const Value objective = [](const Assignment& at) { return 10 - Sum(at); };
  const Value excess = [](const Assignment& at) { return Sum(at) - 8; };
  const AgentSetup setup{.decisions = Decisions(1, 8), .constraints = 1};
  const auto next = [&](bool rough) {
    const auto agent = Make("bisection", setup);
    TrialResult told = Try(0, agent->Ask(0, 1).at(0), objective, excess);
    EXPECT_EQ(told.assignment, Assignment{7}) << "the strongest first";
    told.rough = rough;
    agent->Tell({&told, 1});
    return agent->Ask(1, 1).at(0);
  };
  EXPECT_EQ(next(true), Assignment{3});
  EXPECT_NE(next(false), Assignment{3}) << "nothing to halve";
}

TEST(Tpe, KeepsTogetherWhatIsGoodTogether) {
  // Of the first two decisions both first or both last choices are good, mixed ones are not.
  const auto good = [](const Assignment& at) { return at[0] == at[1] && at[0] != 1; };
  const Value objective = [&](const Assignment& at) {
    return (good(at) ? 0 : 50) + Sum(at) - at[0] - at[1];
  };
  int kept = 0;
  int torn = 0;
  int all = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto trials =
        Searched("tpe", {.decisions = Decisions(8, 3), .seed = seed}, 160, objective);
    for (const TrialResult& told : std::span(trials).subspan(80)) {
      ++all;
      kept += good(told.assignment) ? 1 : 0;
      torn += told.assignment[0] + told.assignment[1] == 2 && told.assignment[0] != 1 ? 1 : 0;
    }
  }
  // Of 9 pairs 2 are good and 2 torn; draws by each decision alone would have as many of either.
  EXPECT_GT(kept, all / 2);
  EXPECT_LT(torn, kept / 2);
}

TEST(Gp, ChoosesAmongEqualProposalsBySeed) {
  const Value objective = [](const Assignment& at) { return std::abs(Sum(at) - 4); };
  std::set<Assignment> chosen;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto agent = Make("gp", {.decisions = Decisions(6, 3), .seed = seed, .first_trial = 3});
    std::vector<TrialResult> anchors;
    for (const std::int32_t choice : {2, 1, 0}) {
      anchors.push_back(Try(anchors.size(), Assignment(6, choice), objective, {}));
    }
    agent->Tell(anchors);
    chosen.insert(agent->Ask(3, 1).at(0));
  }
  // Nothing tells six decisions that were always alike apart.
  EXPECT_GE(chosen.size(), 3U);
}

TEST(Gp, BearsValuesThatDoublesHardlyHold) {
  const Value odd = [](const Assignment& at) {
    return std::fmod(Sum(at), 2) == 0 ? 1e308 : -1e308;
  };
  for (const char* agent : {"gp", "auto"}) {
    const AgentSetup setup{.decisions = Decisions(4, 3)};
    EXPECT_EQ(Searched(agent, setup, 20, odd).size(), 20U) << agent;
    AgentSetup limited = setup;
    limited.constraints = 1;
    EXPECT_EQ(Searched(agent, limited, 20, odd, odd).size(), 20U) << agent;
  }
}

TEST(Ilp, ProposesTheFrontOfDeclaredCostsBeforeAllElse) {
  AgentSetup setup{.decisions = Decisions(4, 2), .objectives = 2, .seed = 1};
  // Powers of two: no two sums are equal, and all 16 assignments are on the front but those with
  // the last decision's second choice, which is worse in both.
  setup.costs = {{.offset = 0, .effects = {{0, 1}, {0, 2}, {0, 4}, {0, 8}}},
                 {.offset = 0, .effects = {{1, 0}, {2, 0}, {4, 0}, {0, 8}}}};
  const auto agent = Make("ilp", setup);
  std::set<Assignment> first;
  for (std::uint64_t trial = 0; trial < 8; trial += 4) {
    std::vector<TrialResult> told;
    for (const Assignment& proposal : agent->Ask(trial, 4)) {
      EXPECT_EQ(proposal[3], 0);
      first.insert(proposal);
      told.push_back({.trial = trial + told.size(), .assignment = proposal, .objectives = {1, 1}});
    }
    agent->Tell(told);
  }
  EXPECT_EQ(first.size(), 8U);
}

TEST(Collage, ProposesDeclaredCoversByTheirCost) {
  AgentSetup setup{.decisions = Decisions(4, 3), .seed = 1};
  setup.prior.cover_front = {{.assignment = {2, 2, 2, 2}, .cost = 3, .boundaries = 0},
                             {.assignment = {0, 1, 0, 1}, .cost = 1, .boundaries = 3},
                             {.assignment = {0, 0, 1, 1}, .cost = 2, .boundaries = 1}};
  const std::vector<Assignment> expected = {{0, 1, 0, 1}, {0, 0, 1, 1}, {2, 2, 2, 2}};
  auto proposals = Make("collage", setup)->Ask(0, 4);
  proposals.resize(3);
  EXPECT_EQ(proposals, expected);
  EXPECT_EQ(Make("auto", setup)->Ask(0, 1).at(0), expected[0]);
}

TEST(Policy, LearnsToDrawBetterOnes) {
  double first = 0;
  double last = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto trials = Searched("policy", {.decisions = Decisions(20, 3), .seed = seed}, 320, Sum);
    for (std::size_t i = 0; i < 8; ++i) first += trials[i].objectives[0] / 40;
    for (std::size_t i = 280; i < 320; ++i) last += trials[i].objectives[0] / 200;
  }
  EXPECT_NEAR(first, 20, 2) << "as random ones";
  EXPECT_LT(last, first - 6);
}

/// `count` random trials.
std::vector<TrialResult> Known(const AgentSetup& setup, std::size_t count, const Value& objective) {
  Rng rng(9);
  std::vector<TrialResult> known;
  std::set<Assignment> seen;
  while (known.size() < count) {
    const Assignment at = gym::DrawLegal(setup.decisions, {}, rng);
    if (seen.insert(at).second) known.push_back(Try(known.size(), at, objective, {}));
  }
  return known;
}

/// What an agent proposes for a round right after `known`.
std::vector<Assignment> After(const std::string& name, AgentSetup setup,
                              const std::vector<TrialResult>& known) {
  setup.first_trial = known.size();
  const auto agent = Make(name, setup);
  agent->Tell(known);
  return agent->Ask(known.size(), 4);
}

TEST(Auto, FollowsProcessesFirstAndTpeAndEvolutionBeyond200Trials) {
  AgentSetup setup{.decisions = Decisions(12, 3), .seed = 4};
  Rng rng(5);
  std::vector<double> weights;
  for (int i = 0; i < 12; ++i) weights.push_back(rng.Uniform());
  const Value objective = [&](const Assignment& at) {
    double sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * weights[i];
    return sum;
  };
  std::vector<TrialResult> known = Known(setup, 60, objective);
  auto few = After("auto", setup, known);
  auto process = After("gp", setup, known);
  few.resize(3);
  process.resize(3);
  EXPECT_EQ(few, process);

  known = Known(setup, 240, objective);
  setup.first_trial = known.size();
  History history;
  for (const TrialResult& told : known) history.Add(told);
  // Of seven, a part in 32 of 240, one is the process's, three are TPE's and the others
  // evolution's.
  Draft draft(setup, history, known.size(), 7);
  std::size_t part = 1;
  for (const auto& method : {MakeGpMethod(setup), MakeTpeMethod(setup, Goodness::kBest),
                             MakeEvolutionMethod(setup, Selection::kBest)}) {
    method->Learn(history, known);
    const PartOfDraft room(draft, part);
    method->Propose(draft);
    part = 3;
  }
  const auto agent = Make("auto", setup);
  agent->Tell(known);
  EXPECT_EQ(agent->Ask(known.size(), 7), draft.proposals());
}

}  // namespace
}  // namespace msc::agents
