#include "agents/collage/collage_agent.h"

#include "agents/common/additive_model.h"
#include "agents/common/covers.h"
#include "agents/common/method.h"

namespace msc::agents {

using gym::Assignment;

namespace {

class CollageMethod final : public Method {
 public:
  explicit CollageMethod(const gym::AgentSetup& setup) : setup_(setup) {}

  // Propose uses only the draft's history.
  void Learn(const History& /*history*/, std::span<const gym::TrialResult> /*round*/) override {}

  void Propose(Draft& draft) const override {
    for (const Assignment& cover : CoversInOrder(setup_, draft.history())) draft.Add(cover);
    const Assignment base = draft.history().BestOr(setup_);
    for (const Assignment& change : SingleChanges(setup_, base)) draft.Add(change);
    Rng rng = draft.MakeRng();
    while (draft.AddNear(base, rng)) continue;
  }

 private:
  gym::AgentSetup setup_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeCollageAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, std::make_unique<CollageMethod>(setup));
}

}  // namespace msc::agents
