#include "gym/wrappers/reward_noise.h"

#include <cmath>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "gym/wrappers/wrap.h"

namespace msc::gym {

std::unique_ptr<Env> WithRewardNoise(std::unique_ptr<Env> env, double deviation) {
  if (!std::isfinite(deviation) || deviation < 0) {
    throw UserError("the deviation of noise must be a finite number >= 0, not " +
                    std::to_string(deviation));
  }
  // Keeps the noise independent of the env's own draws from the same seed.
  constexpr std::uint64_t kNoise = 0x6E6F697365;
  auto rng = std::make_shared<Rng>(MixSeed({0, kNoise}));
  return WrapEnv(std::move(env),
                 {.after_reset =
                      [rng](std::optional<std::uint64_t> seed, const ResetOptions& /*options*/,
                            ResetResult& /*result*/) {
                        if (seed) *rng = Rng(MixSeed({*seed, kNoise}));
                      },
                  .after_step =
                      [rng, deviation](const Point& /*action*/, StepResult& result) {
                        result.reward += deviation * rng->Normal();
                      }});
}

}  // namespace msc::gym
