#include "agents/random/random_agent.h"

#include "agents/common/method.h"

namespace msc::agents {

namespace {

/// What a method leaves open is drawn at random: everything, here.
class RandomMethod final : public Method {
 public:
  void Learn(const History& /*history*/, std::span<const gym::Told> /*round*/) override {}
  void Propose(Draft& /*draft*/) const override {}
};

}  // namespace

std::unique_ptr<gym::Agent> MakeRandomAgent(const gym::AgentSetup& setup) {
  // Large: results decide nothing but what not to propose again.
  constexpr std::size_t kRound = 256;
  return MakeRoundAgent(setup, kRound, std::make_unique<RandomMethod>());
}

}  // namespace msc::agents
