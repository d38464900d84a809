#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/space.h"

namespace msc::gym {

/// Diagnostics returned with an observation. Agents may read them; learning must not need them.
using Notes = std::map<std::string, std::variant<double, std::string>>;
/// Options of a reset, by name; an env rejects names that it does not know.
using ResetOptions = std::map<std::string, std::variant<double, std::string>>;

struct ResetResult {
  Point observation;
  Notes info;
};

/// Result of one step, as in Gymnasium.
struct StepResult {
  Point observation;
  double reward = 0.0;      ///< larger is better
  bool terminated = false;  ///< the task ended: all decided, or a rule broken
  bool truncated = false;   ///< something else ended it: step limit, time, budget
  Notes info;
};

/// Properties of an env that agents and wrappers may rely on.
struct EnvFacts {
  std::string id;                               ///< "Quantize-v0"
  bool nondeterministic = false;                ///< rewards come from measurements
  std::optional<std::int64_t> max_steps = {};   ///< longest possible episode; absent = unbounded
  std::vector<std::string> reset_options = {};  ///< names of options that Reset accepts
};

class SearchProblem;

/// One problem as a Markov decision process, with the semantics of Gymnasium 1.x.
///
/// The public methods check the contract for every environment; a derived class implements only the
/// Do* methods. An exception thrown by DoReset or DoStep ends the episode. Not thread-safe.
/// Source: Gymnasium 1.x documentation, "Env".
class Env {
 public:
  Env() = default;
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env() = default;

  /// Starts an episode. With a seed, the env's generator restarts from it; without one, the
  /// generator continues (the first reset without a seed uses seed 0). Throws UserError for an
  /// option that facts() does not name, and InternalError if the observation is not in its space.
  ResetResult Reset(std::optional<std::uint64_t> seed = std::nullopt,
                    const ResetOptions& options = {});
  /// Takes one step. Throws UserError, and leaves the episode as it was, before Reset, after the
  /// end, or if the action is outside the space or masked out. Throws InternalError if the env
  /// breaks its contract: an observation outside its space, a reward that is not finite, an episode
  /// longer than max_steps.
  StepResult Step(const Point& action);
  /// Returns one flag for each value of a Discrete action space: whether the action is legal now.
  /// Empty means that all are legal. At least one is legal during an episode.
  [[nodiscard]] std::vector<bool> ActionMask() const;
  [[nodiscard]] const Space& observation_space() const { return DoObservationSpace(); }
  [[nodiscard]] const Space& action_space() const { return DoActionSpace(); }
  [[nodiscard]] const EnvFacts& facts() const { return DoFacts(); }
  /// Returns the state as readable text (Gymnasium's render mode "ansi").
  [[nodiscard]] std::string Render() const { return DoRender(); }
  /// Returns the problem as one vector of decisions, for search agents, or nullptr if it has no
  /// such form. An env that has one takes one step per decision, in their order: the action is the
  /// index of the choice, and the info of the last step holds each metric by name, or "failure".
  [[nodiscard]] SearchProblem* problem() { return DoProblem(); }

 protected:
  /// Returns the generator for the env's own random draws; Reset seeds it.
  [[nodiscard]] Rng& rng() noexcept { return rng_; }

 private:
  /// Starts an episode. Reset has already seeded rng(); `seed` is for components that the env
  /// wraps.
  virtual ResetResult DoReset(std::optional<std::uint64_t> seed, const ResetOptions& options) = 0;
  virtual StepResult DoStep(const Point& action) = 0;
  [[nodiscard]] virtual const Space& DoObservationSpace() const = 0;
  [[nodiscard]] virtual const Space& DoActionSpace() const = 0;
  [[nodiscard]] virtual const EnvFacts& DoFacts() const = 0;
  [[nodiscard]] virtual std::vector<bool> DoActionMask() const { return {}; }
  [[nodiscard]] virtual std::string DoRender() const { return ""; }
  [[nodiscard]] virtual SearchProblem* DoProblem() { return nullptr; }

  enum class Phase : unsigned char { kNew, kRunning, kEnded };
  Rng rng_{0};
  Phase phase_ = Phase::kNew;
  std::int64_t steps_ = 0;
};

/// Returns a legal action of a running episode, drawn uniformly from those that the space and the
/// mask allow.
[[nodiscard]] Point SampleAction(const Env& env, Rng& rng);

}  // namespace msc::gym
