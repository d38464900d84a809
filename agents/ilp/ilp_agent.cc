#include "agents/ilp/ilp_agent.h"

#include <algorithm>
#include <limits>

#include "agents/common/additive_model.h"
#include "agents/common/ranking.h"
#include "agents/ilp/ilp_method.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

/// Returns the number of partial sums to keep for a fitted model, which is solved again each round:
/// many if that is cheap, else few, as the model has errors anyway.
std::size_t MostSums(std::size_t decisions) {
  return decisions <= 16 ? 1024 : 128;
}

class IlpMethod final : public Method {
 public:
  IlpMethod(const gym::AgentSetup& setup, std::size_t changes) : setup_(setup), changes_(changes) {
    if (setup_.costs.empty()) return;
    constexpr std::size_t kMaxExactSums = 4096;  // with more, members are near the front
    front_ = AdditiveModel(setup_, History()).Front(kMaxExactSums).assignments;
  }

  void Learn(const History& history, std::span<const TrialResult> /*round*/) override {
    if (!start_.empty()) return;
    start_ = history.BestOr(setup_);
  }

  void Propose(Draft& draft) const override {
    if (setup_.costs.empty()) {
      draft.Add(start_);
      // With estimates there is no need to try each change.
      auto changes = SingleChanges(setup_, start_);
      const std::size_t most = setup_.estimates.empty() ? changes_ : 0;
      if (changes.size() > most) changes.resize(most);
      for (const Assignment& change : changes) draft.Add(change);
    }
    for (const Assignment& member : front_) draft.Add(gym::MakeLegal(setup_.mask, member));
    const TrialResult* best = draft.history().Best();
    if (draft.full() || best == nullptr || !best->Complete()) return;
    const AdditiveModel model(setup_, draft.history());
    ProposeFront(draft, model);
    Mend(draft, model, best->assignment);
  }

 private:
  /// Proposes up to two members of the front: the best predicted ones under the constraints or, if
  /// the front itself is sought, random ones.
  void ProposeFront(Draft& draft, const AdditiveModel& model) const {
    const PartOfDraft half(draft, 2);
    const std::vector<Assignment> front =
        model.Front(MostSums(setup_.decisions.size())).assignments;
    if (setup_.objectives > 1 && setup_.constraints == 0) {
      Rng rng = draft.MakeRng();
      for (std::size_t i = 0; i < front.size(); ++i) {
        draft.Add(gym::MakeLegal(setup_.mask, front[rng.Below(front.size())]));
      }
      return;
    }
    for (const Assignment& member : front) draft.Add(gym::MakeLegal(setup_.mask, member));
  }

  /// Proposes single changes of the best answer, the best predicted first, as the sum errs where
  /// neighbouring decisions interact; then random neighbours.
  void Mend(Draft& draft, const AdditiveModel& model, const Assignment& best) const {
    std::vector<TrialResult> expected;
    for (const Assignment& change : SingleChanges(setup_, best)) {
      if (draft.Takes(change)) expected.push_back(model.Expect(change));
    }
    std::stable_sort(expected.begin(), expected.end(), IsBetterTrial);
    for (const TrialResult& told : expected) draft.Add(told.assignment);
    Rng rng = draft.MakeRng();
    while (draft.AddNear(best, rng)) continue;
  }

  gym::AgentSetup setup_;
  std::size_t changes_;
  Assignment start_;
  std::vector<Assignment> front_;  // of declared costs; empty without
};

}  // namespace

std::unique_ptr<Method> MakeIlpMethod(const gym::AgentSetup& setup, std::size_t changes) {
  return std::make_unique<IlpMethod>(setup, changes);
}

std::unique_ptr<gym::Agent> MakeIlpAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound,
                        MakeIlpMethod(setup, std::numeric_limits<std::size_t>::max()));
}

}  // namespace msc::agents
