#include "gym/python/wrappers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <pybind11/stl.h>

#include "compiler/base/error.h"
#include "gym/python/values.h"
#include "gym/wrappers/cache.h"
#include "gym/wrappers/record_episode.h"
#include "gym/wrappers/reward_noise.h"
#include "gym/wrappers/time_limit.h"
#include "gym/wrappers/transform_reward.h"

namespace py = pybind11;

namespace msc::gym {
namespace {

py::dict ToPython(const Episode& episode) {
  using namespace py::literals;  // NOLINT: "name"_a
  py::list steps;
  for (const RecordedStep& step : episode.steps) {
    steps.append(py::make_tuple(gym::ToPython(step.action), step.reward));
  }
  return py::dict("seed"_a = episode.seed, "options"_a = episode.options, "steps"_a = steps,
                  "terminated"_a = episode.terminated, "truncated"_a = episode.truncated);
}

EnvWrapper Cache(std::int64_t most) {
  return {[most](std::unique_ptr<Env> env) {
    return WithCache(std::move(env), static_cast<std::size_t>(std::max<std::int64_t>(most, 0)));
  }};
}

EnvWrapper TimeLimit(std::int64_t limit) {
  return {[limit](std::unique_ptr<Env> env) { return WithTimeLimit(std::move(env), limit); }};
}

EnvWrapper RewardNoise(double deviation) {
  return {
      [deviation](std::unique_ptr<Env> env) { return WithRewardNoise(std::move(env), deviation); }};
}

// Envs step without Python's lock, but Python functions need it.

EnvWrapper TransformReward(const py::function& transform) {
  return {[transform](std::unique_ptr<Env> env) {
    return WithTransformedReward(std::move(env), [transform](double reward) {
      const py::gil_scoped_acquire acquired;
      const auto made = transform(reward).cast<double>();
      if (std::isfinite(made)) return made;
      throw UserError("a transformed reward must be a finite number, not " + std::to_string(made));
    });
  }};
}

EnvWrapper Record(const py::function& sink) {
  return {[sink](std::unique_ptr<Env> env) {
    return WithRecording(std::move(env), [sink](const Episode& episode) {
      const py::gil_scoped_acquire acquired;
      sink(ToPython(episode));
    });
  }};
}

}  // namespace

void AddWrappers(py::module_& core) {
  const py::class_<EnvWrapper> opaque(core, "EnvWrapper");
  core.def("cache", Cache);
  core.def("time_limit", TimeLimit);
  core.def("reward_noise", RewardNoise);
  core.def("transform_reward", TransformReward);
  core.def("record", Record);
}

}  // namespace msc::gym
