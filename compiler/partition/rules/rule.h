#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/rules/pattern.h"
#include "compiler/partition/rules/sub_graph.h"

namespace msc {

/// Finds sub-graphs that a target could compute; they may overlap. Rules are built from other
/// rules.
/// Source: apache/tvm at fb43fc8577, src/relay/collage.
using Rule = std::function<std::vector<SubGraph>(const DataflowGraph& flow)>;

// --- rules that look at the graph ---

/// Finds the matches of `pattern`. Values that Any() stands for are not part of them.
[[nodiscard]] Rule PatternRule(PatternPtr pattern);
/// Horizontal: among the calls of `op` that read the same tensors, finds every run of two to eight
/// neighbours, and all together.
[[nodiscard]] Rule SiblingRule(std::string op);
/// Finds the sets of nodes that a user lists by name. UserError if there is no such node.
[[nodiscard]] Rule UserRule(std::vector<std::vector<std::string>> regions);

// --- rules made of rules ---

/// Finds what each of `rules` finds, one after the other; duplicates stay.
[[nodiscard]] Rule UnionRule(std::vector<Rule> rules);

}  // namespace msc
