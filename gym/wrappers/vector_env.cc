#include "gym/wrappers/vector_env.h"

#include <string>
#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {

VectorEnv::VectorEnv(const EnvMaker& make, std::size_t count) : ended_(count, false) {
  if (count < 1) throw UserError("a vector of envs has at least 1");
  for (std::size_t i = 0; i < count; ++i) {
    envs_.push_back(make());
    Check(envs_.back() != nullptr, "a maker of envs makes one");
  }
}

std::vector<ResetResult> VectorEnv::Reset(std::optional<std::uint64_t> seed,
                                          const ResetOptions& options) {
  std::vector<ResetResult> results;
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    results.push_back(envs_[i]->Reset(seed ? std::optional(*seed + i) : std::nullopt, options));
    ended_[i] = false;
  }
  options_ = options;
  return results;
}

std::vector<StepResult> VectorEnv::Step(std::span<const Point> actions) {
  if (actions.size() != envs_.size()) {
    throw UserError(std::to_string(envs_.size()) + " envs take as many actions, not " +
                    std::to_string(actions.size()));
  }
  std::vector<StepResult> results;
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    if (ended_[i]) {
      ResetResult start = envs_[i]->Reset(std::nullopt, options_);
      results.push_back(
          {.observation = std::move(start.observation), .info = std::move(start.info)});
    } else {
      results.push_back(envs_[i]->Step(actions[i]));
    }
    ended_[i] = results.back().terminated || results.back().truncated;
  }
  return results;
}

std::vector<std::vector<bool>> VectorEnv::ActionMasks() const {
  std::vector<std::vector<bool>> masks;
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    masks.push_back(ended_[i] ? std::vector<bool>() : envs_[i]->ActionMask());
  }
  return masks;
}

}  // namespace msc::gym
