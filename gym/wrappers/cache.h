#pragma once

#include <cstddef>
#include <memory>

#include "gym/core/env.h"

namespace msc::gym {

/// Caches the results of episodes: the last step of an episode that was played before returns the
/// stored result, so a measuring env measures it only once. Stores the first `most` episodes and
/// never evicts one. Throws UserError if `most` < 1.
///
/// For envs whose episodes depend only on the reset options, the first observation and the actions,
/// as those of all envs with a problem() do. After a cached last step, Render shows the state
/// before that step. problem() is the inner env's, which is not cached.
[[nodiscard]] std::unique_ptr<Env> WithCache(std::unique_ptr<Env> env, std::size_t most = 100000);

}  // namespace msc::gym
