#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// The target of docs/add_a_target.md: whole, small, and put through the contract tests.
[[nodiscard]] TargetKind ExampleKind();

}  // namespace msc
