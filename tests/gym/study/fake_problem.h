#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/agent.h"
#include "gym/core/problem.h"

namespace msc::gym::testing {

/// Three decisions of four choices. "cost" falls and "error" grows with the choices' sum; an
/// assignment whose last choice is 3 and whose first is 0 fails. Counts what it is asked for, and
/// may report in a shuffled order as a farm does.
class FakeProblem final : public SearchProblem {
 public:
  std::size_t workers = 1;
  std::uint64_t shuffle_seed = 0;  ///< 0 = in order
  std::string hash = "fake-1";
  std::vector<std::pair<std::string, Assignment>> anchors = {{"plain", {0, 0, 0}},
                                                             {"all", {3, 3, 3}}};
  std::map<Assignment, int> tried;
  std::set<Assignment> interrupted = {};  ///< whoever measures these is killed
  int batches = 0;
  std::function<void()> works = {};  ///< called while it works on a candidate

  static Evaluation Truth(const Assignment& a) {
    if (a[0] == 0 && a[2] == 3) return {{}, Failure{FailureKind::kUnsupported, "0 before 3"}, ""};
    const double sum = a[0] + a[1] + a[2];
    return {{{"cost", 10.0 - sum + 0.25 * a[1]}, {"error", sum * sum + 0.5 * a[0]}},
            std::nullopt,
            "{\"sum\":" + std::to_string(a[0] + a[1] + a[2]) + "}"};
  }

 private:
  const std::vector<Decision>& DoDecisions() const override { return decisions_; }
  std::vector<std::string> DoMetrics() const override { return {"cost", "error"}; }
  std::vector<std::pair<std::string, Assignment>> DoAnchors() const override { return anchors; }
  std::size_t DoParallelism() const override { return workers; }
  std::string DoDescribe(const Assignment& assignment) const override {
    return ChoicesAsJson(decisions_, assignment);
  }
  std::string DoHash() const override { return hash; }
  void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    ++batches;
    std::vector<std::size_t> order(batch.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (shuffle_seed != 0) {
      Rng rng(MixSeed({shuffle_seed, batch.size()}));
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
    }
    for (const std::size_t i : order) {
      if (stop && stop()) return;
      ++tried[batch[i]];
      if (works) works();
      const Evaluation nothing{{}, Failure{FailureKind::kLost, "killed"}, ""};
      done(i, interrupted.contains(batch[i]) ? nothing : Truth(batch[i]));
    }
  }

  std::vector<Decision> decisions_ = {
      {"a", {"0", "1", "2", "3"}}, {"b", {"0", "1", "2", "3"}}, {"c", {"0", "1", "2", "3"}}};
};

inline AgentSetup SetupFor(const SearchProblem& problem, std::uint64_t seed,
                           std::size_t constraints = 1) {
  AgentSetup setup;
  setup.constraints = constraints;
  setup.decisions = problem.decisions();
  setup.objectives = 1;
  setup.seed = seed;
  setup.first_trial = problem.Anchors().size();
  return setup;
}

/// Proposes at random, a function of the trial number alone.
class FreeAgent final : public Agent {
 public:
  using Agent::Agent;
  std::size_t limit = 1000000;  ///< trials after which it has nothing left

 private:
  std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    std::vector<Assignment> proposals;
    for (std::uint64_t trial = first; trial < std::min<std::uint64_t>(first + count, limit);
         ++trial) {
      Rng rng(MixSeed({setup().seed, trial}));
      Assignment a(3);
      for (auto& choice : a) choice = static_cast<std::int32_t>(rng.Below(4));
      proposals.push_back(a);
    }
    return proposals;
  }
};

/// Changes one choice of the best it was told, in rounds of five: every result before decides.
class RoundAgent final : public Agent {
 public:
  using Agent::Agent;
  std::vector<TrialResult> heard;

 private:
  std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    std::vector<Assignment> proposals;
    for (std::uint64_t trial = first; trial < first + count; ++trial) {
      Rng rng(MixSeed({setup().seed, trial}));
      Assignment a = best_;
      a[rng.Below(3)] = static_cast<std::int32_t>(rng.Below(4));
      proposals.push_back(a);
    }
    return proposals;
  }
  void DoTell(std::span<const TrialResult> results) override {
    for (const auto& told : results) {
      heard.push_back(told);
      if (told.failed || told.unknown || told.violation > 0 || told.objectives[0] >= least_)
        continue;
      least_ = told.objectives[0];
      best_ = told.assignment;
    }
  }
  std::optional<std::size_t> DoRound() const override { return 5; }

  Assignment best_ = {0, 0, 0};
  double least_ = 1e9;
};

}  // namespace msc::gym::testing
