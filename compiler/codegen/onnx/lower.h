#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/graph.h"

namespace msc::detail {

/// Says that an operator set cannot express a node; a newer one may.
class SetCannotExpress : public UserError {
 public:
  using UserError::UserError;
};

/// A node with one output, which a set needs in front of another node.
struct OutStep {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
  AttrMap attrs = {};
};

/// A node during export. Values are names; an empty name is absent.
struct OutNode {
  const Graph& graph;
  NodeId id;
  std::int64_t opset;
  std::string op;
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  AttrMap attrs;
  bool narrow_result = false;  ///< of msc.CastNarrow: the file has its result in the narrow type
  std::vector<OutStep> before = {};                            ///< in order
  std::vector<std::pair<std::string, Tensor>> constants = {};  ///< new, for the node or `before`

  [[nodiscard]] const Node& node() const { return graph.node(id); }
  /// Adds a constant named after the node and `what`; returns its name.
  std::string AddConstant(const std::string& what, Tensor tensor);
  /// Throws SetCannotExpress: the operator set cannot express this node because of `why`.
  [[noreturn]] void Reject(const std::string& why) const;
};

[[nodiscard]] OutNode MakeOutNode(const Graph& graph, NodeId id, std::int64_t opset);

/// Converts a node of the graph to the form of `node.opset`, if that set has an older one. Throws
/// SetCannotExpress if inputs that were attributes in that set are not constant. Source: ONNX
/// Changelog.
void LowerNode(OutNode& node);

}  // namespace msc::detail
