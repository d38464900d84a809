#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/partition/cost.h"
#include "compiler/partition/dataflow.h"
#include "compiler/partition/index_set.h"

namespace msc {

/// Form of a tensor on a boundary between candidates: its layout, precision and device together.
/// The number is an index into CoverProblem::labels.
using Label = std::uint8_t;
/// The default form (dense, row-major), which inputs and outputs of the graph always have.
inline constexpr Label kDense = 0;
/// Sets of labels are 32-bit masks.
inline constexpr std::size_t kMaxLabels = 32;

/// A tensor and the form in which a candidate exchanges it.
struct TensorLabel {
  FlowIndex tensor = kNoFlow;
  Label label = kDense;
  bool operator==(const TensorLabel&) const = default;
};

/// Nodes that one target computes as one region. The same nodes with other options, another
/// precision or another layout of a target are another candidate.
struct CandidateRegion {
  IndexSet nodes;         ///< convex
  std::string target;     ///< target spec, such as "onednn:threads=2"
  std::string rule = {};  ///< name of the rule that generated it, shown to users
  Cost cost = {};         ///< cost of the nodes alone, without conversions at the boundary
  /// Labels of the tensors that the candidate reads from outside (`wants`), and of those that it
  /// hands to other candidates (`makes`), sorted by tensor. A tensor that is missing is dense.
  std::vector<TensorLabel> wants = {};
  std::vector<TensorLabel> makes = {};
  std::int64_t bytes = 0;  ///< memory of weights and workspace
  /// Names of further rules, of the user or of the target's own patterns, that generated the same
  /// candidate.
  std::vector<std::string> also = {};
};

/// Returns the names of all rules that generated `candidate`, for users: "unit, layer".
[[nodiscard]] std::string RulesOf(const CandidateRegion& candidate);

/// Returns the tensors that `nodes` read from outside, each once, in the order in which the nodes
/// read them.
[[nodiscard]] std::vector<FlowIndex> TensorsIn(const DataflowGraph& graph, const IndexSet& nodes);
/// Returns the tensors of `nodes` that other nodes read or that are outputs of the graph, in node
/// order.
[[nodiscard]] std::vector<FlowIndex> TensorsOut(const DataflowGraph& graph, const IndexSet& nodes);

/// Returns the label of `tensor` in `list`; kDense if it is missing.
[[nodiscard]] Label LabelOf(const std::vector<TensorLabel>& list, FlowIndex tensor);

}  // namespace msc
