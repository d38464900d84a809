#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// Adds every target of this folder: one line each in register.cc.
void RegisterAllTargets(TargetRegistry& registry);

}  // namespace msc
