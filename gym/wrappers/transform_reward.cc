#include "gym/wrappers/transform_reward.h"

#include <utility>

#include "compiler/base/error.h"
#include "gym/wrappers/wrap.h"

namespace msc::gym {

std::unique_ptr<Env> WithTransformedReward(std::unique_ptr<Env> env,
                                           std::function<double(double)> transform) {
  Check(static_cast<bool>(transform), "a reward is transformed by something");
  return WrapEnv(std::move(env), {.after_step = [transform = std::move(transform)](
                                                    const Point& /*action*/, StepResult& result) {
                   result.reward = transform(result.reward);
                 }});
}

}  // namespace msc::gym
