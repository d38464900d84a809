#include "gym/wrappers/time_limit.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "gym/wrappers/wrap.h"

namespace msc::gym {

std::unique_ptr<Env> WithTimeLimit(std::unique_ptr<Env> env, std::int64_t limit) {
  Check(env != nullptr, "a wrapper has an env to wrap");
  if (limit < 1) {
    throw UserError("a time limit must be at least 1 step, not " + std::to_string(limit));
  }
  EnvFacts facts = env->facts();
  facts.max_steps = std::min(limit, facts.max_steps.value_or(limit));
  auto steps = std::make_shared<std::int64_t>(0);
  return WrapEnv(std::move(env), {.after_reset = [steps](std::optional<std::uint64_t> /*seed*/,
                                                         const ResetOptions& /*options*/,
                                                         ResetResult& /*result*/) { *steps = 0; },
                                  .after_step =
                                      [steps, limit](const Point& /*action*/, StepResult& result) {
                                        if (++*steps >= limit && !result.terminated)
                                          result.truncated = true;
                                      },
                                  .facts = std::move(facts)});
}

}  // namespace msc::gym
