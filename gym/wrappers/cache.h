#pragma once

#include <cstddef>
#include <memory>

#include "gym/core/env.h"

namespace msc::gym {

/// Answers the last step of an episode that was played before with what came of it then: what a
/// measuring env takes its time for is done once. Kept are the first `most` episodes; after that
/// nothing is forgotten and nothing new is kept. UserError if `most` < 1.
///
/// For envs whose episodes follow from the reset options, the first observation and the actions, as
/// those of all envs with a problem() do. Render shows the state before a last step that was
/// answered so, and problem() is the inner env's, which is not cached.
[[nodiscard]] std::unique_ptr<Env> WithCache(std::unique_ptr<Env> env, std::size_t most = 100000);

}  // namespace msc::gym
