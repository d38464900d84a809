#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc::detail {

/// A node on its way out. Values are names; an empty one is absent.
struct OutNode {
  const Graph& graph;
  NodeId id;
  std::int64_t opset;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  AttrMap attrs;

  [[nodiscard]] const Node& node() const { return graph.node(id); }
  /// UserError: why this node cannot be written at this operator set.
  [[noreturn]] void Refuse(const std::string& why) const;
};

[[nodiscard]] OutNode MakeOutNode(const Graph& graph, NodeId id, std::int64_t opset);

/// Rewrites a node of operator set 17 in the form of `node.opset`. UserError where parameters that
/// were attributes then are not constants. Source: ONNX Changelog.
void LowerNode(OutNode& node);

/// Checks a lowered node against libonnx's schema of its operator set: that the operator, its
/// attributes, input and output counts and element types exist there. Removes attributes that the
/// older schema lacks if they hold the value that absence means.
void CheckSchema(OutNode& node);

}  // namespace msc::detail
