#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/rules/rule.h"

namespace msc {

/// State that combiners work on in one round: the sub-graphs so far, of which those from
/// first_new() on were added in the previous round. Sub-graphs that a combiner adds appear in the
/// next round.
class CombineRound {
 public:
  CombineRound(const DataflowGraph& flow, RuleMode mode, std::size_t max_depth)
      : flow_(flow), mode_(mode), max_depth_(max_depth) {}

  [[nodiscard]] const DataflowGraph& flow() const noexcept { return flow_; }
  [[nodiscard]] RuleMode mode() const noexcept { return mode_; }
  [[nodiscard]] std::size_t max_depth() const noexcept { return max_depth_; }
  [[nodiscard]] const std::vector<Offered>& all() const noexcept { return all_; }
  [[nodiscard]] std::size_t first_new() const noexcept { return first_new_; }
  /// Returns whether this pair of indices was tried in an earlier round.
  [[nodiscard]] bool Tried(std::size_t upstream, std::size_t downstream) const {
    if (mode_ == RuleMode::kCompat) return upstream < first_new_;
    return upstream < first_new_ && downstream < first_new_;
  }

  /// Adds a sub-graph unless it is there already.
  void Add(Offered offered);
  /// Adds the union of both, named after both rules.
  void AddUnion(const Offered& a, const Offered& b);
  /// Begins the next round. Returns whether anything was added in the last one.
  bool Next();
  [[nodiscard]] std::vector<Offered> Take() && { return std::move(all_); }

 private:
  using Key = std::pair<IndexSet, std::vector<IndexSet>>;

  const DataflowGraph& flow_;
  RuleMode mode_;
  std::size_t max_depth_;
  std::vector<Offered> all_;
  std::vector<Offered> added_;
  std::set<Key> seen_;  ///< nodes and nested nodes; attributes do not distinguish sub-graphs
  std::size_t first_new_ = 0;
};

}  // namespace msc
