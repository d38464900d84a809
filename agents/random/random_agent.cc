#include "agents/random/random_agent.h"

#include "compiler/base/rng.h"

namespace msc::agents {

namespace {

class RandomAgent final : public gym::Agent {
 public:
  using Agent::Agent;

 private:
  std::vector<gym::Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    std::vector<gym::Assignment> proposals(count);
    for (gym::Assignment& proposal : proposals) {
      Rng rng(MixSeed({setup().seed, first++}));
      for (const gym::Decision& decision : setup().decisions) {
        proposal.push_back(static_cast<std::int32_t>(rng.Below(decision.choices.size())));
      }
    }
    return proposals;
  }
};

}  // namespace

std::unique_ptr<gym::Agent> MakeRandomAgent(const gym::AgentSetup& setup) {
  return std::make_unique<RandomAgent>(setup);
}

}  // namespace msc::agents
