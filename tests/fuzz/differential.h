#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/targets/target.h"

namespace msc::fuzz {

/// How a graph is compiled to be compared with what the reference kernels make of it.
struct Variant {
  std::string target = "reference";
  std::uint64_t precision_seed = 0;  ///< 0: all in f32; else each layer in a precision drawn by it
  int threads = 1;
};
[[nodiscard]] std::string ToString(const Variant& variant);

/// Canonicalizes, compiles and runs `graph` and compares every output with the reference kernels'
/// on the canonical graph (on the Q/DQ graph where layers are narrow), and that with the graph as
/// it was. Nothing where all agree, as tests/support/agreement.h has it, else what went wrong.
[[nodiscard]] std::optional<std::string> Disagreement(const Graph& graph, const Variant& variant,
                                                      const TargetRegistry& registry);

/// The smallest part of `graph` found for which `fails` still holds: nodes are cut off at the end,
/// then in front, where their results become inputs.
[[nodiscard]] Graph Shrunk(const Graph& graph, const std::function<bool(const Graph&)>& fails);

}  // namespace msc::fuzz
