#include "agents/policy/policy_agent.h"

#include <algorithm>
#include <vector>

#include "agents/common/method.h"
#include "agents/common/ranking.h"
#include "agents/policy/walk_policy.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

constexpr std::size_t kRound = 8;
constexpr std::size_t kImitated = 4;
constexpr int kEpochs = 4;

class PolicyMethod final : public Method {
 public:
  explicit PolicyMethod(const gym::AgentSetup& setup) : setup_(setup), policy_(setup) {}

  void Learn(const History& history, std::span<const TrialResult> round) override {
    for (const TrialResult& told : round) {
      ranked_.insert(std::upper_bound(ranked_.begin(), ranked_.end(), told, IsBetterTrial), told);
    }
    if (history.trials().size() < kImitated) return;
    std::vector<Lesson> lessons;
    for (const TrialResult& told : round) lessons.push_back({&told.assignment, Worth(told)});
    for (std::size_t i = 0; i < std::min(kImitated, ranked_.size()); ++i) {
      if (ranked_[i].Complete()) lessons.push_back({&ranked_[i].assignment, 1});
    }
    if (!lessons.empty()) policy_.Learn(lessons, kEpochs);
  }

  void Propose(Draft& draft) const override {
    while (!draft.full()) {
      Rng rng = draft.MakeRng();
      draft.AddNear(policy_.Draw(rng), rng);
    }
  }

 private:
  /// Returns a value from -1 for the worst of all trials to 1 for the best.
  [[nodiscard]] double Worth(const TrialResult& told) const {
    const auto place = std::lower_bound(ranked_.begin(), ranked_.end(), told, IsBetterTrial);
    const double better = static_cast<double>(place - ranked_.begin());
    return ranked_.size() < 2 ? 0 : 1 - 2 * better / static_cast<double>(ranked_.size() - 1);
  }

  gym::AgentSetup setup_;
  WalkPolicy policy_;
  std::vector<TrialResult> ranked_;  // best first
};

}  // namespace

std::unique_ptr<gym::Agent> MakePolicyAgent(const gym::AgentSetup& setup) {
  return MakeRoundAgent(setup, kRound, std::make_unique<PolicyMethod>(setup), Rounds::kGrowing);
}

}  // namespace msc::agents
