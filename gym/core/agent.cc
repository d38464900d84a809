#include "gym/core/agent.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {

namespace {

bool Fits(std::span<const Decision> decisions, const Assignment& assignment) {
  return std::equal(decisions.begin(), decisions.end(), assignment.begin(), assignment.end(),
                    [](const Decision& decision, std::int32_t choice) {
                      return choice >= 0 && std::cmp_less(choice, decision.choices.size());
                    });
}

}  // namespace

Agent::Agent(AgentSetup setup) : setup_(std::move(setup)) {
  CheckDecisions(setup_.decisions);
  if (setup_.objectives < 1) throw UserError("an agent needs at least one objective");
  Check(setup_.costs.empty() || setup_.costs.size() == setup_.objectives + setup_.constraints,
        "costs are known of every objective and constraint, or of none");
}

std::vector<Assignment> Agent::Ask(std::uint64_t first, std::size_t count) {
  Check(first >= setup_.first_trial, "an agent is asked for trials from its first one on");
  if (count == 0) return {};
  std::vector<Assignment> proposals = DoAsk(first, count);
  Check(proposals.size() <= count, "an agent proposes no more than it was asked for");
  for (const Assignment& proposal : proposals) {
    Check(Fits(setup_.decisions, proposal), "an agent proposes choices in range");
    Check(IsLegal(setup_.mask, proposal), "an agent proposes what its mask leaves");
  }
  return proposals;
}

void Agent::Tell(std::span<const TrialResult> results) {
  for (const TrialResult& told : results) {
    Check(!last_told_ || told.trial > *last_told_, "an agent is told each trial once, in order");
    Check(Fits(setup_.decisions, told.assignment), "an agent is told choices in range");
    const bool valued = !told.failed && !told.unknown;
    Check(told.objectives.size() == (valued ? setup_.objectives : 0),
          "an agent is told every objective of a trial, and none of a failed one");
    Check(told.constraints.size() == (valued ? setup_.constraints : 0),
          "an agent is told every constraint of a trial, and none of a failed one");
    Check(std::all_of(told.objectives.begin(), told.objectives.end(),
                      [](double value) { return std::isfinite(value); }),
          "an agent is told finite objectives");
    Check(!(told.failed && told.rough), "a trial that failed has no rough results");
    Check(!told.unknown || (!told.failed && !told.rough), "of what is unknown nothing is told");
    Check(told.violation >= 0, "a violation is not negative");
    last_told_ = told.trial;
  }
  DoTell(results);
}

}  // namespace msc::gym
