#include "agents/grid/sweep_agent.h"

#include <optional>
#include <utility>

#include "agents/common/method.h"
#include "agents/common/ranking.h"

namespace msc::agents {

using gym::Assignment;
using gym::Told;

namespace {

/// Sweeps again for every proposal, on the results told; what is not known yet is proposed.
class SweepMethod final : public Method {
 public:
  explicit SweepMethod(gym::AgentSetup setup) : setup_(std::move(setup)) {}

  void Learn(const History& /*history*/, std::span<const Told> /*round*/) override {}

  void Propose(Draft& draft) const override {
    const Assignment first = gym::MakeLegal(setup_.mask, Assignment(setup_.decisions.size(), 0));
    if (Sweep(draft, first) && Sweep(draft, draft.history().Best()->assignment)) {
      Rng rng = draft.MakeRng();
      while (draft.AddNear(draft.history().Best()->assignment, rng)) continue;
    }
  }

 private:
  /// Whether all about `from` is known, the best of each decision together included.
  [[nodiscard]] bool Sweep(Draft& draft, const Assignment& from) const {
    const Told* start = Find(draft, from);
    bool known = start != nullptr;
    Assignment together = from;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Told* best = start;
      const auto choices = static_cast<std::int32_t>(setup_.decisions[i].choices.size());
      for (std::int32_t choice = 0; choice < choices; ++choice) {
        const auto changed = Changed(from, i, choice);
        if (!changed) continue;
        const Told* told = Find(draft, *changed);
        known = known && told != nullptr;
        if (known && Better(*told, *best)) {
          best = told;
          together[i] = choice;
        }
      }
      if (draft.full()) return false;
    }
    return known && Find(draft, gym::MakeLegal(setup_.mask, std::move(together))) != nullptr;
  }

  /// `from` with another choice of one decision, as near as is legal; nothing where that is ruled
  /// out.
  [[nodiscard]] std::optional<Assignment> Changed(const Assignment& from, std::size_t decision,
                                                  std::int32_t choice) const {
    if (choice == from[decision]) return std::nullopt;
    Assignment changed = from;
    changed[decision] = choice;
    changed = gym::MakeLegal(setup_.mask, std::move(changed));
    if (changed[decision] != choice) return std::nullopt;
    return changed;
  }

  /// Its result; where it is not known, nothing, and it goes into the draft.
  static const Told* Find(Draft& draft, const Assignment& assignment) {
    const Told* told = draft.history().Find(assignment);
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
