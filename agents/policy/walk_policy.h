#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/agent.h"

namespace msc::agents {

/// A walk and what it was worth: above 0 it becomes more likely, below 0 less.
struct Lesson {
  const gym::Assignment* walk = nullptr;
  double worth = 0;
};

/// Draws assignments decision by decision: the probabilities of the choices of one are those of a
/// network with one hidden layer over which decision it is, what is known of it (the setup's
/// features) and what was chosen right before.
class WalkPolicy {
 public:
  /// Starts near to uniform, by the setup's seed. What its mask rules out is never drawn.
  explicit WalkPolicy(const gym::AgentSetup& setup);
  WalkPolicy(WalkPolicy&&) noexcept;
  ~WalkPolicy();

  [[nodiscard]] gym::Assignment Draw(Rng& rng) const;
  /// Log of the probability of a walk; of one that is ruled out minus infinity.
  [[nodiscard]] double LogProbability(const gym::Assignment& walk) const;
  /// `epochs` steps of Adam on the clipped objective of PPO with a bonus for entropy, each choice
  /// of a walk being worth what the walk is. Walks with choices that are ruled out are passed over.
  void Learn(std::span<const Lesson> lessons, int epochs);
  /// Gradient by parameters of the sum over lessons of worth * log probability, and the parameters,
  /// for tests.
  [[nodiscard]] std::vector<double> Gradient(std::span<const Lesson> lessons) const;
  [[nodiscard]] std::vector<double>& parameters();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace msc::agents
