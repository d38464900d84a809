#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/partition/cost.h"
#include "compiler/partition/dataflow.h"
#include "compiler/partition/index_set.h"

namespace msc {

/// Form of a tensor on a boundary: its layout, precision and device together. An index into
/// CoverProblem::labels.
using Label = std::uint8_t;
/// How values are without anyone asking for more: the inputs and outputs of the whole, too.
inline constexpr Label kDense = 0;
inline constexpr std::size_t kMaxLabels = 32;

struct TensorLabel {
  FlowIndex tensor = kNoFlow;
  Label label = kDense;
  bool operator==(const TensorLabel&) const = default;
};

/// Nodes that one target computes in one go. Two option sets, precisions or layouts of a target are
/// two candidates.
struct Candidate {
  IndexSet nodes;         ///< convex
  std::string target;     ///< a target spec: "onednn:threads=2"
  std::string rule = {};  ///< which rule made it, for people
  Cost cost = {};         ///< of the nodes alone, without conversions on the boundary
  /// Labels of tensors that it reads from outside, and of tensors that others read from it, by
  /// tensor in rising order. What is not listed is dense.
  std::vector<TensorLabel> wants = {};
  std::vector<TensorLabel> makes = {};
  std::int64_t bytes = 0;  ///< memory it holds: weights and workspace
  /// Names of further rules, of a user or of its target's own patterns, that offer the same.
  std::vector<std::string> also = {};
};

/// All rules that offer it, for people: "unit, layer".
[[nodiscard]] std::string RulesOf(const Candidate& candidate);

/// Tensors that `nodes` read from outside, in order: nodes left to right, each once.
[[nodiscard]] std::vector<FlowIndex> TensorsIn(const DataflowGraph& graph, const IndexSet& nodes);
/// Tensors of `nodes` that others read or that leave the whole, in order.
[[nodiscard]] std::vector<FlowIndex> TensorsOut(const DataflowGraph& graph, const IndexSet& nodes);

/// The label that `list` gives `tensor`.
[[nodiscard]] Label LabelOf(const std::vector<TensorLabel>& list, FlowIndex tensor);

}  // namespace msc
