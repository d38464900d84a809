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

}  // namespace msc
