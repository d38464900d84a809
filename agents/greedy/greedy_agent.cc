#include "agents/greedy/greedy_agent.h"

#include <algorithm>
#include <vector>

#include "agents/common/method.h"
#include "agents/common/ranking.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

/// The state of a climb: all that is needed to continue it with more results.
struct Climb {
  Assignment from;
  std::uint64_t kicks = 0;  ///< number of restarts so far
};

class GreedyMethod final : public Method {
 public:
  explicit GreedyMethod(const gym::AgentSetup& setup) : setup_(setup) {}

  void Learn(const History& history, std::span<const TrialResult> /*round*/) override {
    if (climb_.from.empty()) {
      climb_.from = history.BestOr(setup_);
    }
    // A draft without room takes no proposal, so Advance only follows known results.
    Draft nothing(setup_, history, 0, 0);
    climb_ = Advance(climb_, nothing);
  }

  void Propose(Draft& draft) const override { (void)Advance(climb_, draft); }

 private:
  /// Climbs as far as results are known, and adds the assignments that the next step needs to the
  /// draft.
  [[nodiscard]] Climb Advance(Climb climb, Draft& draft) const {
    // This many climbs without a missing result mean that the space is nearly exhausted.
    constexpr int kMaxKicks = 20;
    for (int kick = 0; kick < kMaxKicks; ++kick) {
      while (true) {
        const auto next = Pass(climb.from, draft);
        if (next.empty()) return climb;
        if (next == climb.from) break;
        climb.from = next;
      }
      ++climb.kicks;
      climb.from = Kicked(draft.history().Best()->assignment, climb.kicks);
    }
    return climb;
  }

  /// Makes one pass. Returns the assignment that it leads to, `from` itself at a local optimum, or
  /// an empty assignment if results are missing.
  [[nodiscard]] Assignment Pass(const Assignment& from, Draft& draft) const {
    const TrialResult* start = Find(from, draft);
    bool known = start != nullptr;
    std::vector<const TrialResult*> helpful;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto choices = static_cast<std::int32_t>(setup_.decisions[i].choices.size());
      for (std::int32_t choice = 0; choice < choices; ++choice) {
        if (choice == from[i]) continue;
        Assignment changed = from;
        changed[i] = choice;
        changed = gym::MakeLegal(setup_.mask, std::move(changed));
        if (changed[i] != choice) continue;
        const TrialResult* told = Find(changed, draft);
        if (told == nullptr) {
          if (draft.full()) return {};
          known = false;
        } else if (start != nullptr && IsBetterTrial(*told, *start)) {
          helpful.push_back(told);
        }
      }
    }
    if (!known) return {};
    std::stable_sort(
        helpful.begin(), helpful.end(),
        [](const TrialResult* a, const TrialResult* b) { return IsBetterTrial(*a, *b); });
    // Applies each change on top of those before; a change that does not help there is reverted.
    const TrialResult* current = start;
    for (const TrialResult* change : helpful) {
      Assignment both = current->assignment;
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (change->assignment[i] != from[i]) both[i] = change->assignment[i];
      }
      const TrialResult* told = Find(gym::MakeLegal(setup_.mask, std::move(both)), draft);
      if (told == nullptr) return {};
      if (IsBetterTrial(*told, *current)) current = told;
    }
    return current->assignment;
  }

  /// Returns the result of `assignment`, or adds it to the draft and returns nullptr.
  static const TrialResult* Find(const Assignment& assignment, Draft& draft) {
    const TrialResult* told = draft.history().Find(assignment);
    if (told == nullptr) draft.Add(assignment);
    return told;
  }

  /// Redraws up to 4 decisions.
  [[nodiscard]] Assignment Kicked(Assignment assignment, std::uint64_t kick) const {
    constexpr std::uint64_t kTag = 0x6b69636b;  // "kick": a random stream of its own
    Rng rng(MixSeed({setup_.seed, kTag, kick}));
    // After one change, the best trial would be among the single changes of the next pass.
    const std::uint64_t changes = 2 + rng.Below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::size_t place = rng.Below(assignment.size());
      const auto& choices = setup_.decisions[place].choices;
      assignment[place] = static_cast<std::int32_t>(rng.Below(choices.size()));
    }
    return gym::MakeLegal(setup_.mask, std::move(assignment));
  }

  gym::AgentSetup setup_;
  Climb climb_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeGreedyAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, std::make_unique<GreedyMethod>(setup), Rounds::kGrowing);
}

}  // namespace msc::agents
