#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gym/core/agent.h"

namespace msc::gym {

/// Which trials of a search are repeated with a training of the candidate.
struct TrainBest {
  std::size_t decision = 0;  ///< the one about training; its choice 0 is none
  std::int32_t choice = 0;   ///< the training
  double share = 0;          ///< largest part of the trials' time for training, 0 to 1
  /// Whether objectives, then constraints, are losses: what training lowers.
  std::vector<bool> losses = {};
  /// Returns whether a candidate would be trained: one that is not compressed would not.
  std::function<bool(const Assignment&)> trains = {};
};

/// Makes an agent that trains a candidate whenever training has taken less than its share of the
/// trials' time, and otherwise proposes what an agent of `make` proposes that trains nothing. The
/// candidate to train is the trial that is expected to be the best one once it is trained. If none
/// is expected to be better than the best trial, it is the proposal of a second agent of `make`,
/// which is told what results would be after a training. How much of a loss a training leaves is
/// the mean of those before.
///
/// What is proposed is a function of the results alone, of which the seconds are part, so that a
/// resumed search trains the same candidates. The first agent is not told of trained candidates.
/// Without a share, and in a search for a front, nothing is trained.
[[nodiscard]] std::unique_ptr<Agent> MakeTrainBestAgent(
    AgentSetup setup, TrainBest train,
    const std::function<std::unique_ptr<Agent>(const AgentSetup&)>& make);

}  // namespace msc::gym
