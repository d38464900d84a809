#pragma once

#include <map>

#include "compiler/ir/graph.h"
#include "compiler/ops/op.h"

namespace msc::detail {

/// Values of a few elements that follow from constants and known sizes, such as the condition of an
/// If. The graph itself keeps the nodes that compute them.
class SmallValues {
 public:
  /// `graph` outlives this object.
  explicit SmallValues(const Graph& graph) : graph_(graph) {}

  /// Computes the outputs of the last node, as far as what it reads is known and they are small.
  void Add(NodeId id, const OpRegistry& ops);
  /// Returns the tensor of a value, also of a constant of the graph; nullptr if it is not known.
  [[nodiscard]] TensorPtr Find(ValueId id) const;

 private:
  [[nodiscard]] bool IsSmall(ValueId id) const;

  const Graph& graph_;
  std::map<ValueId, TensorPtr> values_;
};

}  // namespace msc::detail
