#include "agents/bisection/bisection_agent.h"

#include <optional>

#include "agents/common/method.h"
#include "agents/common/ranking.h"

namespace msc::agents {

using gym::Assignment;

namespace {

/// Repeats the whole search for every proposal on the results so far, up to the first assignment
/// without a result, which is the proposal.
class BisectionMethod final : public Method {
 public:
  explicit BisectionMethod(const gym::AgentSetup& setup) : setup_(setup) {}

  void Learn(const History& /*history*/, std::span<const gym::TrialResult> /*round*/) override {}

  void Propose(Draft& draft) const override {
    const auto steps = BisectSteps(draft);
    if (!steps) return;
    Assignment current = AtStep(std::max<std::int64_t>(*steps, 0));
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < current.size(); ++i) {
        const auto choice = BisectDecision(draft, current, i);
        if (!choice) return;
        moved = moved || *choice != current[i];
        current[i] = *choice;
      }
    }
    Rng rng = draft.MakeRng();
    while (draft.AddNear(draft.history().Best()->assignment, rng)) continue;
  }

 private:
  /// Returns the assignment `step` single steps from the mildest one: the first decisions at their
  /// last choice, the next one partly raised, the others at their first choice; made legal.
  [[nodiscard]] Assignment AtStep(std::int64_t step) const {
    Assignment assignment;
    for (const gym::Decision& decision : setup_.decisions) {
      const auto room = static_cast<std::int64_t>(decision.choices.size()) - 1;
      const std::int64_t taken = std::min(step, room);
      assignment.push_back(static_cast<std::int32_t>(taken));
      step -= taken;
    }
    return gym::MakeLegal(setup_.mask, std::move(assignment));
  }

  /// Returns whether `assignment` keeps the constraints; if it has no result yet, adds it to the
  /// draft and returns nothing. An illegal assignment keeps none.
  [[nodiscard]] std::optional<bool> Keeps(Draft& draft, const Assignment& assignment) const {
    if (!gym::IsLegal(setup_.mask, assignment)) return false;
    if (const gym::TrialResult* told = draft.history().Find(assignment)) {
      return told->Complete() && told->violation == 0;
    }
    draft.Add(assignment);
    return std::nullopt;
  }

  /// Returns the largest number of steps that keeps the constraints, -1 if there is none, or
  /// nothing while a result is missing.
  [[nodiscard]] std::optional<std::int64_t> BisectSteps(Draft& draft) const {
    // Throughout, `low` keeps the constraints or is -1, and `high` does not or is one past the
    // strongest.
    std::int64_t low = -1;
    std::int64_t high = 1;
    for (const auto& decision : setup_.decisions) {
      high += static_cast<std::int64_t>(decision.choices.size()) - 1;
    }
    // Starts with the strongest assignment: if it keeps the constraints, the search is over.
    std::int64_t step = high - 1;
    while (high - low > 1) {
      const auto keeps = Keeps(draft, AtStep(step));
      if (!keeps) return std::nullopt;
      (*keeps ? low : high) = step;
      step = low + (high - low) / 2;
    }
    return low;
  }

  /// Returns the strongest choice of one decision that keeps the constraints and is better than the
  /// current one, or nothing while a result is missing.
  [[nodiscard]] std::optional<std::int32_t> BisectDecision(Draft& draft, const Assignment& current,
                                                           std::size_t decision) const {
    std::int32_t low = current[decision];
    auto high = static_cast<std::int32_t>(setup_.decisions[decision].choices.size());
    while (high - low > 1) {
      Assignment further = current;
      further[decision] = low + (high - low) / 2;
      const auto keeps = Keeps(draft, further);
      if (!keeps) return std::nullopt;
      (*keeps ? low : high) = further[decision];
    }
    if (low == current[decision]) return low;
    // A stronger choice that is feasible may still have a worse objective. As only better trials
    // are accepted, the repetition in Propose ends.
    Assignment further = current;
    further[decision] = low;
    const gym::TrialResult* before = draft.history().Find(current);
    const bool better = before == nullptr || IsBetterTrial(*draft.history().Find(further), *before);
    return better ? low : current[decision];
  }

  gym::AgentSetup setup_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeBisectionAgent(const gym::AgentSetup& setup) {
  return MakeRoundAgent(setup, 1, std::make_unique<BisectionMethod>(setup));
}

}  // namespace msc::agents
