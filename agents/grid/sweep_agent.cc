#include "agents/grid/sweep_agent.h"

#include <optional>
#include <utility>

#include "agents/common/method.h"
#include "agents/common/ranking.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

/// Repeats the sweep for every proposal on the results so far; assignments without a result are
/// proposed.
class SweepMethod final : public Method {
 public:
  explicit SweepMethod(gym::AgentSetup setup) : setup_(std::move(setup)) {}

  void Learn(const History& /*history*/, std::span<const TrialResult> /*round*/) override {}

  void Propose(Draft& draft) const override {
    const Assignment first = gym::MakeLegal(setup_.mask, Assignment(setup_.decisions.size(), 0));
    if (Sweep(draft, first) && Sweep(draft, draft.history().Best()->assignment)) {
      Rng rng = draft.MakeRng();
      while (draft.AddNear(draft.history().Best()->assignment, rng)) continue;
    }
  }

 private:
  /// Returns whether all single changes of `from`, and their best choices together, have results;
  /// adds those that have none to the draft.
  [[nodiscard]] bool Sweep(Draft& draft, const Assignment& from) const {
    const TrialResult* start = Find(draft, from);
    bool known = start != nullptr;
    Assignment together = from;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const TrialResult* best = start;
      const auto choices = static_cast<std::int32_t>(setup_.decisions[i].choices.size());
      for (std::int32_t choice = 0; choice < choices; ++choice) {
        const auto changed = Changed(from, i, choice);
        if (!changed) continue;
        const TrialResult* told = Find(draft, *changed);
        known = known && told != nullptr;
        if (known && IsBetterTrial(*told, *best)) {
          best = told;
          together[i] = choice;
        }
      }
      if (draft.full()) return false;
    }
    return known && Find(draft, gym::MakeLegal(setup_.mask, std::move(together))) != nullptr;
  }

  /// Returns `from` with another choice of one decision, made legal, or nothing if that choice is
  /// illegal there.
  [[nodiscard]] std::optional<Assignment> Changed(const Assignment& from, std::size_t decision,
                                                  std::int32_t choice) const {
    if (choice == from[decision]) return std::nullopt;
    Assignment changed = from;
    changed[decision] = choice;
    changed = gym::MakeLegal(setup_.mask, std::move(changed));
    if (changed[decision] != choice) return std::nullopt;
    return changed;
  }

  /// Returns the result of `assignment`, or adds it to the draft and returns nullptr.
  static const TrialResult* Find(Draft& draft, const Assignment& assignment) {
    const TrialResult* told = draft.history().Find(assignment);
    if (told == nullptr) draft.Add(assignment);
    return told;
  }

  gym::AgentSetup setup_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeSweepAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, std::make_unique<SweepMethod>(setup));
}

}  // namespace msc::agents
