// How long does an agent think? Prints milliseconds of processor time, by agent, with 1,000 trials
// told in a space of 100 decisions of 3 choices, one objective and one constraint; and with two
// objectives. Three numbers each: the mean a proposal, the most that a proposal of one round took
// (the round's time by its proposals), and the longest time that a study waits for one answer.
//
//   build/release/bin/ask_costs [trials = 1000] [decisions = 100]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "agents/register.h"
#include "compiler/base/rng.h"

namespace {

using msc::gym::TrialResult;

std::vector<msc::gym::Decision> Decisions(std::size_t count) {
  std::vector<msc::gym::Decision> decisions;
  for (std::size_t i = 0; i < count; ++i) {
    decisions.push_back({"layer" + std::to_string(i), {"f32", "bf16", "int8"}});
  }
  return decisions;
}

/// Time and loss add up, with a cost where neighbours differ.
/// One objective is under a limit; of two a front is sought.
TrialResult Try(std::uint64_t trial, msc::gym::Assignment assignment, std::size_t objectives) {
  double time = 0;
  double loss = 0;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    msc::Rng rng(msc::MixSeed({i}));
    time += (2 - assignment[i]) * rng.Uniform();
    loss += assignment[i] * rng.Uniform();
    if (i > 0 && assignment[i] != assignment[i - 1]) time += 0.2;
  }
  const double excess = loss / (0.4 * static_cast<double>(assignment.size())) - 1;
  TrialResult told{.trial = trial, .assignment = std::move(assignment), .objectives = {time}};
  if (objectives > 1) {
    told.objectives.push_back(loss);
    return told;
  }
  told.constraints = {excess};
  told.violation = std::max(excess, 0.0);
  return told;
}

/// The mildest everywhere, its single changes, then random ones: what every agent needs to be past
/// its first steps.
std::vector<TrialResult> Trials(std::size_t trials, std::size_t decisions, std::size_t objectives) {
  msc::Rng rng(3);
  std::vector<TrialResult> told;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    msc::gym::Assignment assignment(decisions, 0);
    if (trial > 2 * decisions) {
      for (auto& choice : assignment) choice = static_cast<std::int32_t>(rng.Below(3));
    } else if (trial > 0) {
      assignment[(trial - 1) / 2] = static_cast<std::int32_t>(1 + trial % 2);
    }
    told.push_back(Try(trial, std::move(assignment), objectives));
  }
  return told;
}

/// Seconds of processor time so far. Not std::clock(): some agents take less than its ticks.
double Processor() {
  std::timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Milliseconds.
struct Costs {
  double mean = 0;        ///< a proposal
  double worst = 0;       ///< a proposal, in the round where that is most
  double worst_wait = 0;  ///< a telling and asking for a whole round
};

/// Asking and telling, over some 80 proposals, so that each part of a portfolio has its turns;
/// trying them is the problem's time, not the agent's.
Costs Measure(const std::string& name, std::size_t trials, std::size_t decisions,
              std::size_t objectives) {
  constexpr std::uint64_t kProposals = 80;
  msc::agents::AgentRegistry registry;
  msc::agents::RegisterAll(registry);
  const auto agent = registry.Make(name, {.decisions = Decisions(decisions),
                                          .objectives = objectives,
                                          .constraints = objectives > 1 ? 0U : 1U,
                                          .seed = 1,
                                          .first_trial = 1});
  std::vector<TrialResult> told = Trials(trials, decisions, objectives);
  std::uint64_t next = trials;
  std::uint64_t counted = 0;
  double spent = 0;
  Costs costs;
  for (int round = 0; counted < kProposals; ++round) {
    const double began = Processor();
    agent->Tell(told);
    std::vector<msc::gym::Assignment> proposals = agent->Ask(next, agent->round().value_or(16));
    const double took = 1000 * (Processor() - began);
    told.clear();
    for (auto& proposal : proposals) {
      told.push_back(Try(next++, std::move(proposal), objectives));
    }
    if (round == 0) continue;  // it hears of all trials before
    spent += took;
    counted += told.size();
    costs.worst = std::max(costs.worst, took / static_cast<double>(told.size()));
    costs.worst_wait = std::max(costs.worst_wait, took);
  }
  costs.mean = spent / static_cast<double>(counted);
  return costs;
}

void Print(const Costs& costs) {
  std::printf(" %.3g | %.3g | %.3g |", costs.mean, costs.worst, costs.worst_wait);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t trials = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  const std::size_t decisions = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100;
  std::printf("%zu trials told, %zu decisions of 3 choices\n\n", trials, decisions);
  std::printf(
      "Milliseconds of processor time: mean a proposal, most a proposal of a round, most a "
      "round\n\n");
  std::printf(
      "| agent | one objective, a limit: mean | most | round | front of two: mean | most | round "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  msc::agents::AgentRegistry registry;
  msc::agents::RegisterAll(registry);
  for (const std::string& name : registry.Names()) {
    std::printf("| %s |", name.c_str());
    for (const std::size_t objectives : {1, 2}) {
      Print(Measure(name, trials, decisions, objectives));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
