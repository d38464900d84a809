#include "agents/grid/grid_agent.h"

#include <limits>

#include "agents/common/method.h"
#include "agents/common/mixed_radix.h"

namespace msc::agents {

namespace {

class GridAgent final : public gym::Agent {
 public:
  using Agent::Agent;

 private:
  std::vector<gym::Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    std::vector<gym::Assignment> proposals;
    if (setup().mask) return AskLegal(first - setup().first_trial, count);
    for (std::uint64_t n = first - setup().first_trial; proposals.size() < count; ++n) {
      auto assignment = NthAssignment(setup().decisions, n);
      if (!assignment) break;
      proposals.push_back(*std::move(assignment));
      // The next `++n` would wrap to 0.
      if (n == std::numeric_limits<std::uint64_t>::max()) break;
    }
    return proposals;
  }

  /// Proposes from legal assignment number `n` on; with a mask only counting finds it.
  std::vector<gym::Assignment> AskLegal(std::uint64_t n, std::size_t count) {
    const gym::Assignment start =
        gym::MakeLegal(setup().mask, gym::Assignment(setup().decisions.size(), 0));
    // Counting only goes forward, so an earlier number restarts it.
    if (next_.empty() || n < at_) {
      next_ = start;
      at_ = 0;
    }
    std::vector<gym::Assignment> proposals;
    while (proposals.size() < count && (at_ == 0 || next_ != start)) {
      if (at_ >= n) proposals.push_back(next_);
      next_ = NextLegal(setup(), std::move(next_));
      ++at_;
    }
    return proposals;
  }

  gym::Assignment next_;  // legal assignment number at_
  std::uint64_t at_ = 0;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeGridAgent(const gym::AgentSetup& setup) {
  return std::make_unique<GridAgent>(setup);
}

}  // namespace msc::agents
