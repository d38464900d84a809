#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/agent.h"

namespace msc::agents {

/// A walk and its reward: above 0 the walk becomes more likely, below 0 less likely.
struct Lesson {
  const gym::Assignment* walk = nullptr;
  double worth = 0;
};

/// A policy that draws assignments decision by decision. A network with one hidden layer gives the
/// probabilities of the choices from the index of the decision, its features
/// (PriorKnowledge::features) and the previous choice.
class WalkPolicy {
 public:
  /// Starts near uniform probabilities, initialized by the setup's seed. Choices that its mask
  /// excludes are never drawn.
  explicit WalkPolicy(const gym::AgentSetup& setup);
  WalkPolicy(WalkPolicy&&) noexcept;
  ~WalkPolicy();

  [[nodiscard]] gym::Assignment Draw(Rng& rng) const;
  /// Returns the log probability of a walk; minus infinity for an illegal one.
  [[nodiscard]] double LogProbability(const gym::Assignment& walk) const;
  /// Takes `epochs` steps of Adam on the clipped objective of PPO with an entropy bonus; each
  /// choice of a walk has the reward of the walk as its advantage. Illegal walks are skipped.
  void Learn(std::span<const Lesson> lessons, int epochs);
  /// Returns the gradient of the sum over lessons of worth * log probability, and the parameters,
  /// for tests.
  [[nodiscard]] std::vector<double> Gradient(std::span<const Lesson> lessons) const;
  [[nodiscard]] std::vector<double>& parameters();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace msc::agents
