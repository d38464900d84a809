#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/partition/rules/rule.h"

namespace msc {

/// A rule of a user, and the targets it is for.
struct NamedRule {
  std::string name;
  std::vector<std::string> targets;  ///< names or specs; empty: all
  bool exact = false;  ///< whether it lists its nodes, so that each of them must be supported
  Rule rule;
};

/// Regions that a user wants to be tried in addition to those that targets propose.
struct PartitionRules {
  std::vector<NamedRule> rules;
  /// Names or specs of targets that get only single nodes and the regions of rules and of their own
  /// patterns.
  std::vector<std::string> only;
};

/// Parses a file such as
///   {"rules": [{"name": "layer", "pattern": "Relu?(Conv)", "targets": ["onednn"]},
///              {"name": "qkv", "siblings": "MatMul"},
///              {"name": "mine", "nodes": ["conv1", "relu1"]},
///              {"name": "pair", "combine": ["layer"], "join": "anchors", "max_depth": 4}],
///    "only": ["onednn"]}
/// Every rule has a unique name and exactly one of these keys:
/// - `pattern`, see ParsePattern;
/// - `siblings`, see SiblingRule;
/// - `nodes`, see UserRule;
/// - `combine`: the sub-graphs of rules that precede it and have no `combine` themselves, joined
///   until nothing new appears. `join` says how: "anything" (the default), "anchors", "siblings",
///   or "tvm" (see JoinLikeTvm). `max_depth`, 2 to 64, 4 by default, limits the number of nodes on
///   the longest path through a joined sub-graph.
///
/// UserError that names `what` and the faulty key, also for more than 200 rules.
[[nodiscard]] PartitionRules ParsePartitionRules(std::string_view text, const std::string& what);

}  // namespace msc
