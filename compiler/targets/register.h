#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// Adds all targets of this folder; each is one line in register.cc.
void RegisterAllTargets(TargetRegistry& registry);

}  // namespace msc
