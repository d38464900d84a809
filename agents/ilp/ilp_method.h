#pragma once

#include <memory>

#include "agents/common/method.h"

namespace msc::agents {

/// The method of the agent `ilp`, for portfolios. At most `changes` single changes of the best are
/// tried before effects are summed; SIZE_MAX = all.
[[nodiscard]] std::unique_ptr<Method> MakeIlpMethod(const gym::AgentSetup& setup,
                                                    std::size_t changes);

}  // namespace msc::agents
