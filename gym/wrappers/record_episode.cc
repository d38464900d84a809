#include "gym/wrappers/record_episode.h"

#include <utility>

#include "compiler/base/error.h"
#include "gym/wrappers/wrap.h"

namespace msc::gym {

std::unique_ptr<Env> WithRecording(std::unique_ptr<Env> env,
                                   const std::function<void(const Episode&)>& sink) {
  Check(static_cast<bool>(sink), "episodes are recorded to somewhere");
  auto open = std::make_shared<std::optional<Episode>>();
  return WrapEnv(std::move(env),
                 {.after_reset =
                      [open, sink](std::optional<std::uint64_t> seed, const ResetOptions& options,
                                   ResetResult& /*result*/) {
                        if (*open) sink(**open);
                        *open = Episode{.seed = seed, .options = options};
                      },
                  .after_step =
                      [open, sink](const Point& action, StepResult& result) {
                        Episode& episode = open->value();
                        episode.steps.push_back({action, result.reward});
                        episode.terminated = result.terminated;
                        episode.truncated = result.truncated;
                        if (!result.terminated && !result.truncated) return;
                        const Episode done = std::move(episode);
                        open->reset();
                        sink(done);
                      }});
}

Episode ReplayEpisode(Env& env, const Episode& episode) {
  Episode again{.seed = episode.seed, .options = episode.options};
  env.Reset(episode.seed, episode.options);
  for (const RecordedStep& step : episode.steps) {
    const StepResult result = env.Step(step.action);
    again.steps.push_back({step.action, result.reward});
    again.terminated = result.terminated;
    again.truncated = result.truncated;
  }
  return again;
}

}  // namespace msc::gym
