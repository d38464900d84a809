#include "agents/auto/auto_agent.h"

#include "agents/common/additive_model.h"
#include "agents/common/covers.h"
#include "agents/common/method.h"
#include "agents/evolution/evolution_method.h"
#include "agents/gp/gp_method.h"
#include "agents/ilp/ilp_method.h"
#include "agents/tpe/tpe_method.h"

namespace msc::agents {

using gym::Told;

namespace {

constexpr std::size_t kRound = 4;
constexpr std::size_t kStart = 6;         // trials that a model starts from
constexpr std::size_t kKnownFront = 24;   // trials of a front that is declared
constexpr std::size_t kManyTrials = 200;  // from which a process no longer knows all of them

class AutoMethod final : public Method {
 public:
  explicit AutoMethod(const gym::AgentSetup& setup)
      : setup_(setup),
        ilp_(MakeIlpMethod(setup, 0)),
        gp_(MakeGpMethod(setup)),
        evolution_(MakeEvolutionMethod(
            setup, setup.objectives > 1 ? Selection::kFront : Selection::kBest)),
        tpe_(MakeTpeMethod(setup, setup.objectives > 1 ? Goodness::kFront : Goodness::kBest)) {}

  void Learn(const History& history, std::span<const Told> round) override {
    if (start_.empty()) {
      start_ = history.BestOr(setup_);
    }
    for (Method* part : {ilp_.get(), gp_.get(), evolution_.get(), tpe_.get()}) {
      part->Learn(history, round);
    }
  }

  void Propose(Draft& draft) const override {
    const std::size_t trials = draft.history().trials().size();
    // What is known beats all guessing, but sums may be declared in error.
    for (const gym::Assignment& cover : CoversInOrder(setup_, draft.history())) draft.Add(cover);
    if (!setup_.costs.empty() && trials < kKnownFront) ilp_->Propose(draft);
    if (trials < kStart) ProposeChanges(draft);
    {
      // Of many trials processes know a part only, and take long.
      const PartOfDraft part(draft, trials < kManyTrials ? kRound - 1 : 1);
      gp_->Propose(draft);
    }
    const std::uint64_t turn = (draft.trial() - setup_.first_trial) / kRound % 2;
    if (turn == 0) (trials < kManyTrials ? ilp_ : tpe_)->Propose(draft);
    evolution_->Propose(draft);
  }

 private:
  /// Single changes of what was best at first: the least that a model can start from.
  void ProposeChanges(Draft& draft) const {
    draft.Add(start_);
    for (const gym::Assignment& change : SingleChanges(setup_, start_)) {
      draft.Add(change);
    }
  }

  gym::AgentSetup setup_;
  gym::Assignment start_;  // whose single changes are tried first
  std::unique_ptr<Method> ilp_;
  std::unique_ptr<Method> gp_;
  std::unique_ptr<Method> evolution_;
  std::unique_ptr<Method> tpe_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeAutoAgent(const gym::AgentSetup& setup) {
  return MakeRoundAgent(setup, kRound, std::make_unique<AutoMethod>(setup));
}

}  // namespace msc::agents
