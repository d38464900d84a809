#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "compiler/partition/rules/rule.h"

namespace msc {

/// State that combiners work on in one round: the sub-graphs so far. Sub-graphs that a combiner
/// adds appear in the next round.
class CombineRound {
 public:
  CombineRound(const DataflowGraph& flow, std::size_t max_depth)
      : flow_(flow), max_depth_(max_depth) {}

  [[nodiscard]] const DataflowGraph& flow() const noexcept { return flow_; }
  [[nodiscard]] std::size_t max_depth() const noexcept { return max_depth_; }
  [[nodiscard]] const std::vector<SubGraph>& all() const noexcept { return all_; }
  /// Returns whether this pair of indices was tried in an earlier round: both sub-graphs are older
  /// than the last round.
  [[nodiscard]] bool Tried(std::size_t a, std::size_t b) const {
    return a < first_new_ && b < first_new_;
  }

  /// Adds a sub-graph unless it is there already.
  void Add(SubGraph sub_graph);
  void AddUnion(const SubGraph& a, const SubGraph& b);
  /// Begins the next round. Returns whether anything was added in the last one.
  bool Next();
  [[nodiscard]] std::vector<SubGraph> Take() && { return std::move(all_); }

 private:
  const DataflowGraph& flow_;
  std::size_t max_depth_;
  std::vector<SubGraph> all_;
  std::vector<SubGraph> added_;
  std::set<IndexSet> seen_;
  std::size_t first_new_ = 0;  ///< those from here on were added in the last round
};

/// Adds unions of the present sub-graphs in one round.
using Combiner = std::function<void(CombineRound& round)>;

/// Finds the closure of the sub-graphs of `rule` under `combiners`, round by round. Two touching
/// sub-graphs are joined if the sum of their depths is at most `max_depth` (0: no limit). UserError
/// beyond 100,000 sub-graphs.
[[nodiscard]] Rule CombineRule(Rule rule, std::vector<Combiner> combiners, std::size_t max_depth);

/// Joins an upstream sub-graph of the first kind or easier with a downstream one of the second kind
/// or easier.
[[nodiscard]] Combiner JoinByKind(std::vector<std::pair<OpKind, OpKind>> kinds);
/// Joins touching sub-graphs that are not opaque.
[[nodiscard]] Combiner JoinAnything();
/// Horizontal: joins calls of one operator that read the same nodes, such as the three products in
/// front of attention. The regions have several exits.
[[nodiscard]] Combiner JoinSiblings();
/// Vertical: joins two touching sub-graphs that both have an anchor, such as two successive
/// convolutions.
[[nodiscard]] Combiner JoinAnchors();
/// Joins what TVM's FuseOps joins: anchors take elementwise and broadcast operators, these take a
/// reduction, injective operators take each other.
[[nodiscard]] Combiner JoinLikeTvm();

}  // namespace msc
