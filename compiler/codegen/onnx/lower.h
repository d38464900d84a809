#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc::detail {

/// A step that an older set needs in front of a node: no attributes, one output.
struct OutStep {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
};

/// A node on its way out. Values are names; an empty one is absent.
struct OutNode {
  const Graph& graph;
  NodeId id;
  std::int64_t opset;
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  AttrMap attrs;
  std::vector<OutStep> before = {};                            ///< in order
  std::vector<std::pair<std::string, Tensor>> constants = {};  ///< that it, or they, read anew

  [[nodiscard]] const Node& node() const { return graph.node(id); }
  /// Adds a constant called after the node and `what`; gives its name.
  std::string AddConstant(const std::string& what, Tensor tensor);
  /// UserError: why this node cannot be written at this operator set.
  [[noreturn]] void Refuse(const std::string& why) const;
};

[[nodiscard]] OutNode MakeOutNode(const Graph& graph, NodeId id, std::int64_t opset);

/// Rewrites a node of operator set 17 in the form of `node.opset`. UserError where parameters that
/// were attributes then are not constants. Source: ONNX Changelog.
void LowerNode(OutNode& node);

/// Checks a lowered node against libonnx's schema of its operator set: that the operator, its
/// attributes, input and output counts and element types exist there, what must be given is, and
/// what must be of one type is. Removes attributes that the
/// older schema lacks if they hold the value that absence means.
void CheckSchema(OutNode& node);

}  // namespace msc::detail
