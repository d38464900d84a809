#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/partition/rules/rule.h"

namespace msc {

/// A rule of a user, and for whom it is.
struct NamedRule {
  std::string name;
  std::vector<std::string> targets;  ///< names or specs of targets; empty: all
  bool exact = false;                ///< names its nodes, so that each of them must be taken
  Rule rule;
};

/// What a user wants to be tried besides what targets propose themselves.
struct PartitionRules {
  std::vector<NamedRule> rules;
  /// Names or specs of targets that get single nodes and what rules and their own patterns offer,
  /// and nothing else.
  std::vector<std::string> only;
};

/// Reads
///   {"rules": [{"name": "layer", "pattern": "Relu?(Conv)", "targets": ["onednn"]},
///              {"name": "qkv", "siblings": "MatMul"},
///              {"name": "mine", "nodes": ["conv1", "relu1"]},
///              {"name": "pair", "combine": ["layer"], "join": "anchors", "max_depth": 4}],
///    "only": ["onednn"]}
/// Every rule has a name of its own and exactly one of `pattern` (see ParsePattern), `siblings`
/// (see SiblingRule), `nodes` (see UserRule) and `combine`: what the named rules before it, which
/// have no `combine` themselves, offer, joined until nothing is new. `join`: "anything" (the
/// default), "anchors", "siblings", or "tvm" (see FuseLikeTvm). `max_depth`, 2 to 64, 4 by default:
/// nodes on the longest way through a sub-graph that is joined. UserError naming `what` and the key
/// at fault, also beyond 200 rules.
[[nodiscard]] PartitionRules ParsePartitionRules(std::string_view text, const std::string& what);

}  // namespace msc
