#include "gym/wrappers/vector_env.h"

#include <string>
#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {

namespace {

std::vector<std::unique_ptr<Env>> Made(const EnvMaker& make, std::size_t count) {
  std::vector<std::unique_ptr<Env>> envs;
  for (std::size_t i = 0; i < count; ++i) envs.push_back(make());
  return envs;
}

void CheckSame(const Space& space, const Space& first, std::size_t env) {
  if (space == first) return;
  throw UserError("envs of a vector have the same spaces: env " + std::to_string(env) + " has " +
                  space.ToString() + ", the first one " + first.ToString());
}

}  // namespace

VectorEnv::VectorEnv(const EnvMaker& make, std::size_t count) : VectorEnv(Made(make, count)) {}

VectorEnv::VectorEnv(std::vector<std::unique_ptr<Env>> envs)
    : envs_(std::move(envs)), ended_(envs_.size(), false) {
  if (envs_.empty()) throw UserError("a vector of envs has at least 1");
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    Check(envs_[i] != nullptr, "a maker of envs makes one");
    CheckSame(envs_[i]->action_space(), one().action_space(), i);
    CheckSame(envs_[i]->observation_space(), one().observation_space(), i);
  }
}

std::vector<ResetResult> VectorEnv::Reset(std::optional<std::uint64_t> seed,
                                          const ResetOptions& options) {
  std::vector<std::optional<std::uint64_t>> seeds(size());
  for (std::size_t i = 0; seed && i < size(); ++i) seeds[i] = *seed + i;
  return Reset(seeds, options);
}

std::vector<ResetResult> VectorEnv::Reset(std::span<const std::optional<std::uint64_t>> seeds,
                                          const ResetOptions& options) {
  if (seeds.size() != size()) {
    throw UserError(std::to_string(size()) + " envs take as many seeds, not " +
                    std::to_string(seeds.size()));
  }
  std::vector<ResetResult> results;
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    results.push_back(envs_[i]->Reset(seeds[i], options));
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
