#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A named graph transformation. `run` returns whether it changed the graph; it keeps the names of
/// remaining nodes, leaves a graph that Verify accepts, is idempotent, and has no state between
/// runs.
struct Pass {
  std::string name;
  std::function<bool(Graph&)> run;
};

}  // namespace msc
