#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// Compares the outputs of a compiled graph with those of the reference kernels. The tolerance is
/// 1e-4 of the range of an output, or more if changing the inputs in their last bits moves the
/// output by more. Values stored in 8 bits or as bf16 may round to either side. For graphs with
/// such values the tolerance also includes the change of the output when every stored value moves
/// up or down by a step; on average, outputs may be off by 3 % of their range.
class Agreement {
 public:
  /// `graph` is the graph to compute, with Q/DQ and Cast nodes for narrow layers.
  Agreement(const Graph& graph, const std::vector<Tensor>& inputs);
  /// Returns an error text for the outputs that a target computed; nullopt if they agree.
  [[nodiscard]] std::optional<std::string> Wrong(const std::vector<Tensor>& got) const;
  [[nodiscard]] const std::vector<Tensor>& wanted() const { return wanted_; }

 private:
  std::vector<Tensor> wanted_;
  std::vector<Tensor> nudged_;               ///< outputs for slightly different inputs
  std::vector<std::vector<Tensor>> shaken_;  ///< outputs with every stored value moved, for several
                                             ///< seeds; empty if none is narrow
};

}  // namespace msc
