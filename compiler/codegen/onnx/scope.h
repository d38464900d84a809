#pragma once

#include <string_view>

#include "compiler/ir/graph.h"

namespace msc::detail {

/// The graphs around a nested graph, innermost first. ONNX has one set of names for a graph and all
/// graphs nested in it, while here a nested graph may use names of the graphs around it again.
struct Scope {
  const Graph& graph;
  const Scope* outer = nullptr;

  [[nodiscard]] bool HasValue(std::string_view name) const;
  [[nodiscard]] bool HasNode(std::string_view name) const;
};

/// Returns the nested graph as ONNX has it: its own values and nodes have other names than those of
/// the graphs around it, values have the types that follow from those that it captures, and its
/// outputs are different values that its nodes make.
[[nodiscard]] Graph ForScope(const Graph& nested, const Scope& around);

}  // namespace msc::detail
