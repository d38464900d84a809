#include "agents/sobol/sobol_agent.h"

#include "agents/common/method.h"
#include "agents/sobol/sobol_sequence.h"

namespace msc::agents {

namespace {

class SobolMethod final : public Method {
 public:
  explicit SobolMethod(const gym::AgentSetup& setup)
      : setup_(setup), sequence_(setup.decisions.size()) {
    Rng rng(MixSeed({setup.seed}));
    for (std::size_t i = 0; i < setup.decisions.size(); ++i) {
      shifts_.push_back(static_cast<std::uint32_t>(rng.Below(std::uint64_t{1} << 32U)));
    }
  }

  void Learn(const History& /*history*/, std::span<const gym::TrialResult> /*round*/) override {}

  void Propose(Draft& draft) const override {
    while (!draft.full()) {
      const std::uint64_t n = draft.trial() - setup_.first_trial;
      gym::Assignment point;
      for (std::size_t i = 0; i < shifts_.size(); ++i) {
        // A digital shift (XOR) preserves the share of points in every interval.
        // Equal parts of the range of the fraction map to the choices. Both factors of the product
        // below are less than 2^32, so it fits 64 bits.
        const std::uint64_t fraction = sequence_.Coordinate(n, i) ^ shifts_[i];
        const std::uint64_t choices = setup_.decisions[i].choices.size();
        point.push_back(static_cast<std::int32_t>(fraction * choices >> 32U));
      }
      Rng rng = draft.MakeRng();
      if (!draft.AddNear(std::move(point), rng)) return;
    }
  }

 private:
  gym::AgentSetup setup_;
  SobolSequence sequence_;
  std::vector<std::uint32_t> shifts_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeSobolAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 64;
  return MakeRoundAgent(setup, kRound, std::make_unique<SobolMethod>(setup));
}

}  // namespace msc::agents
