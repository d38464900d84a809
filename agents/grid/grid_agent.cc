#include "agents/grid/grid_agent.h"

#include <limits>

#include "agents/common/mixed_radix.h"

namespace msc::agents {

namespace {

class GridAgent final : public gym::Agent {
 public:
  using Agent::Agent;

 private:
  std::vector<gym::Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    std::vector<gym::Assignment> proposals;
    for (std::uint64_t n = first - setup().first_trial; proposals.size() < count; ++n) {
      auto assignment = NthAssignment(setup().decisions, n);
      if (!assignment) break;
      proposals.push_back(*std::move(assignment));
      if (n == std::numeric_limits<std::uint64_t>::max()) break;
    }
    return proposals;
  }
};

}  // namespace

std::unique_ptr<gym::Agent> MakeGridAgent(const gym::AgentSetup& setup) {
  return std::make_unique<GridAgent>(setup);
}

}  // namespace msc::agents
