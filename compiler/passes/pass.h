#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A named change of a graph. Returns whether it changed anything. Keeps names of surviving nodes,
/// leaves a graph that verifies, and is idempotent. No state between runs.
struct Pass {
  std::string name;
  std::function<bool(Graph&)> run;
};

}  // namespace msc
