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

/// Diagnostics beside an observation; agents may read it, learning must not need it.
using Notes = std::map<std::string, std::variant<double, std::string>>;
/// What a caller may ask of a reset, by name; an env refuses names it does not know.
using ResetOptions = std::map<std::string, std::variant<double, std::string>>;

struct ResetResult {
  Point observation;
  Notes info;
};

/// Gymnasium's five-part step.
struct StepResult {
  Point observation;
  double reward = 0.0;      ///< larger is better
  bool terminated = false;  ///< the task itself ended: all decided, or a rule broken
  bool truncated = false;   ///< something outside the task ended it: step limit, time, budget
  Notes info;
};

/// Facts that agents and wrappers may rely on.
struct EnvFacts {
  std::string id;                               ///< "Quantize-v0"
  bool nondeterministic = false;                ///< rewards come from measurements
  std::optional<std::int64_t> max_steps = {};   ///< longest possible episode, if there is a bound
  std::vector<std::string> reset_options = {};  ///< names that Reset takes
};

class SearchProblem;

/// One problem as a Markov decision process, with the semantics of Gymnasium 1.x.
///
/// Public methods check the contract once for every environment; an environment writes the Do*
/// methods only. An exception out of DoReset or DoStep ends the episode. Not thread-safe.
/// Source: Gymnasium 1.x documentation, "Env".
class Env {
 public:
  Env() = default;
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env() = default;

  /// Starts an episode. With a seed, the env's generator restarts from it; without, it goes on (the
  /// first reset without a seed uses seed 0). UserError for an option that facts() does not name;
  /// InternalError if the observation is not in its space.
  ResetResult Reset(std::optional<std::uint64_t> seed = std::nullopt,
                    const ResetOptions& options = {});
  /// UserError before Reset, after the end, for an action outside the space or masked out: the
  /// episode stays as it was. InternalError if the env breaks its own promises: an observation
  /// outside its space, a reward that is not finite, an episode longer than max_steps.
  StepResult Step(const Point& action);
  /// Which values of a Discrete action space are legal now, one flag each; empty = all. During an
  /// episode at least one is.
  [[nodiscard]] std::vector<bool> ActionMask() const;
  [[nodiscard]] const Space& observation_space() const { return DoObservationSpace(); }
  [[nodiscard]] const Space& action_space() const { return DoActionSpace(); }
  [[nodiscard]] const EnvFacts& facts() const { return DoFacts(); }
  /// The state as text for a person (Gymnasium's "ansi" mode).
  [[nodiscard]] std::string Render() const { return DoRender(); }
  /// The same problem as one vector of decisions, for search agents; nullptr if it has no such
  /// form. An env that has one takes one step a decision, in their order: the action is the index
  /// of the choice, and the info of the last step holds each metric under its name, or "failure".
  [[nodiscard]] SearchProblem* problem() { return DoProblem(); }

 protected:
  /// For the env's own draws; seeded by Reset.
  [[nodiscard]] Rng& rng() noexcept { return rng_; }

 private:
  /// rng() is seeded already; `seed` is there to be passed on to what the env is made of.
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

/// A legal action of a running episode, uniform over those that the space and the mask allow.
[[nodiscard]] Point SampleAction(const Env& env, Rng& rng);

}  // namespace msc::gym
