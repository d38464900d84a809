#include "agents/random/random_agent.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agents/common/method.h"

namespace msc::agents {

namespace {

/// Proposes one random sequence, extended as far as it was requested.
class RandomAgent final : public gym::Agent {
 public:
  explicit RandomAgent(gym::AgentSetup setup) : Agent(std::move(setup)) {
    for (const gym::Assignment& anchor : this->setup().anchors) Know(anchor);
  }

 private:
  void Know(const gym::Assignment& assignment) {
    gym::TrialResult told;
    told.assignment = assignment;
    told.failed = true;  // the result is irrelevant
    known_.Add(told);
  }

  std::vector<gym::Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    const std::size_t begin = first - setup().first_trial;
    while (sequence_.size() < begin + count) {
      // A draft compares each new assignment with all of its proposals, so its size is limited.
      constexpr std::size_t kDraft = 256;
      Draft draft(setup(), known_, setup().first_trial + sequence_.size(), kDraft);
      while (draft.AddRandom()) continue;
      if (draft.proposals().empty()) break;
      for (const gym::Assignment& proposal : draft.proposals()) {
        Know(proposal);
        sequence_.push_back(proposal);
      }
    }
    const std::size_t from = std::min(begin, sequence_.size());
    const std::size_t to = std::min(begin + count, sequence_.size());
    return {sequence_.begin() + static_cast<std::ptrdiff_t>(from),
            sequence_.begin() + static_cast<std::ptrdiff_t>(to)};
  }

  History known_;
  std::vector<gym::Assignment> sequence_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeRandomAgent(const gym::AgentSetup& setup) {
  return std::make_unique<RandomAgent>(setup);
}

}  // namespace msc::agents
