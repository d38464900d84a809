#pragma once

#include <cstdint>
#include <memory>

#include "gym/core/env.h"

namespace msc::gym {

/// Truncates an episode at step number `limit` unless it terminates in that step or before.
/// max_steps becomes the limit if it was larger or absent. Throws UserError if `limit` < 1.
/// Source: Gymnasium 1.x `TimeLimit`.
[[nodiscard]] std::unique_ptr<Env> WithTimeLimit(std::unique_ptr<Env> env, std::int64_t limit);

}  // namespace msc::gym
