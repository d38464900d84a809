#include "agents/auto/auto_agent.h"

#include "agents/common/covers.h"
#include "agents/common/method.h"
#include "agents/evolution/evolution_method.h"
#include "agents/gp/gp_method.h"
#include "agents/ilp/ilp_method.h"
#include "agents/tpe/tpe_method.h"

namespace msc::agents {

using gym::TrialResult;

namespace {

constexpr std::size_t kRound = 16;
constexpr std::size_t kTurn = 4;            // one proposal in four is not from Gaussian processes
constexpr std::size_t kKnownFront = 24;     // with fewer trials, declared fronts are proposed
constexpr std::size_t kEstimatedFront = 4;  // trials from the front of estimated costs
constexpr std::size_t kManyTrials = 200;    // from here on, processes use only a part of them

class AutoMethod final : public Method {
 public:
  explicit AutoMethod(const gym::AgentSetup& setup)
      : setup_(setup),
        ilp_(MakeIlpMethod(setup, 0)),
        gp_(MakeGpMethod(setup)),
        evolution_(MakeEvolutionMethod(
            setup, setup.objectives > 1 ? Selection::kFront : Selection::kBest)),
        tpe_(MakeTpeMethod(setup, setup.objectives > 1 ? Goodness::kFront : Goodness::kBest)) {}

  void Learn(const History& history, std::span<const TrialResult> round) override {
    for (Method* part : {ilp_.get(), gp_.get(), evolution_.get(), tpe_.get()}) {
      part->Learn(history, round);
    }
  }

  void Propose(Draft& draft) const override {
    const std::size_t trials = draft.history().trials().size();
    const std::uint64_t turn = draft.trial() / kTurn;
    // Declared knowledge beats any guess, but the front of costs is proposed for some trials only:
    // the declaration may be wrong.
    for (const gym::Assignment& cover : CoversInOrder(setup_, draft.history())) draft.Add(cover);
    if (!setup_.costs.empty() && trials < kKnownFront) ilp_->Propose(draft);
    if (!setup_.estimates.empty() && draft.trial() - setup_.first_trial < kEstimatedFront) {
      ilp_->Propose(draft);
    }
    // With many trials processes use only a part of them and take long.
    const bool many = trials >= kManyTrials;
    const std::size_t room = draft.room();
    {
      const PartOfDraft part(draft, many ? 1 : room - room / kTurn);
      gp_->Propose(draft);
    }
    {
      // If one proposal is left, the two methods take turns.
      const PartOfDraft part(draft, (draft.room() + (turn % 2 == 0 ? 1 : 0)) / 2);
      (many ? tpe_ : ilp_)->Propose(draft);
    }
    evolution_->Propose(draft);
  }

 private:
  gym::AgentSetup setup_;
  std::unique_ptr<Method> ilp_;
  std::unique_ptr<Method> gp_;
  std::unique_ptr<Method> evolution_;
  std::unique_ptr<Method> tpe_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeAutoAgent(const gym::AgentSetup& setup) {
  return MakeRoundAgent(setup, kRound, std::make_unique<AutoMethod>(setup), RoundsFor(setup));
}

}  // namespace msc::agents
