#include "gym/core/env.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {

namespace {

[[noreturn]] void RejectOption(const EnvFacts& facts, const std::string& name) {
  std::string text = "env '" + facts.id + "' has no reset option '" + name + "'";
  bool first = true;
  for (const std::string& word : facts.reset_options) {
    text += first ? "; known: " : ", ";
    text += word;
    first = false;
  }
  throw UserError(text);
}

void CheckOptions(const EnvFacts& facts, const ResetOptions& options) {
  const auto& known = facts.reset_options;
  for (const auto& [name, value] : options) {
    if (std::find(known.begin(), known.end(), name) == known.end()) RejectOption(facts, name);
  }
}

}  // namespace

ResetResult Env::Reset(std::optional<std::uint64_t> seed, const ResetOptions& options) {
  CheckOptions(facts(), options);
  if (seed) rng_ = Rng(*seed);
  // If DoReset throws, there is no episode to step.
  phase_ = Phase::kNew;
  ResetResult result = DoReset(seed, options);
  Check(observation_space().Contains(result.observation),
        "the observation of a reset is in the observation space");
  phase_ = Phase::kRunning;
  steps_ = 0;
  return result;
}

StepResult Env::Step(const Point& action) {
  if (phase_ == Phase::kNew) throw UserError("env '" + facts().id + "': call Reset before Step");
  if (phase_ == Phase::kEnded) {
    throw UserError("env '" + facts().id + "': the episode has ended; call Reset to start another");
  }
  if (!action_space().Contains(action)) {
    throw UserError("env '" + facts().id + "': action " + ToString(action) + " is not in " +
                    action_space().ToString());
  }
  if (const std::vector<bool> mask = ActionMask(); !mask.empty()) {
    const auto& space = std::get<Discrete>(action_space().kind());
    const std::int64_t index = std::get<std::int64_t>(action.value) - space.start;
    if (!mask[static_cast<std::size_t>(index)]) {
      throw UserError("env '" + facts().id + "': action " + ToString(action) +
                      " is masked out now");
    }
  }
  // Set first: if DoStep throws, the episode has ended.
  phase_ = Phase::kEnded;
  StepResult result = DoStep(action);
  ++steps_;
  Check(observation_space().Contains(result.observation),
        "the observation of a step is in the observation space");
  Check(std::isfinite(result.reward), "a reward is finite");
  const bool ended = result.terminated || result.truncated;
  Check(ended || !facts().max_steps || steps_ < *facts().max_steps,
        "an episode ends within the env's max_steps");
  if (!ended) phase_ = Phase::kRunning;
  return result;
}

std::vector<bool> Env::ActionMask() const {
  std::vector<bool> mask = DoActionMask();
  if (mask.empty()) return mask;
  const auto* space = std::get_if<Discrete>(&action_space().kind());
  Check(space != nullptr && std::cmp_equal(mask.size(), space->n),
        "an action mask has one flag per value of a Discrete action space");
  Check(phase_ != Phase::kRunning || std::find(mask.begin(), mask.end(), true) != mask.end(),
        "a running episode has a legal action");
  return mask;
}

Point SampleAction(const Env& env, Rng& rng) {
  const std::vector<bool> mask = env.ActionMask();
  const auto legal = static_cast<std::uint64_t>(std::count(mask.begin(), mask.end(), true));
  if (legal == 0) return env.action_space().Sample(rng);
  std::uint64_t skip = rng.Below(legal);
  std::size_t index = 0;
  while (!mask[index] || skip-- > 0) ++index;
  const auto& space = std::get<Discrete>(env.action_space().kind());
  return Point{space.start + static_cast<std::int64_t>(index)};
}

}  // namespace msc::gym
