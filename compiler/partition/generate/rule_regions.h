#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/partition/generate/units.h"
#include "compiler/partition/rules/rule_file.h"
#include "compiler/targets/target.h"

namespace msc {

/// What a target can run of a graph.
struct Runs {
  const Target* target = nullptr;
  IndexSet nodes;
};

/// Whether `list` has the target, by its name ("onednn": with any options) or by its spec.
[[nodiscard]] bool NamesTarget(const std::vector<std::string>& list, const Target& target);

/// Matches of the target's own patterns that are convex and that it can run. UserError naming the
/// target where a pattern of its does not parse.
[[nodiscard]] std::vector<RegionNodes> PatternRegions(const DataflowGraph& flow, const Runs& runs);

/// For each of `targets` what `rules` offer it that is convex and that it can run. UserError as
/// GenerateCandidates.
[[nodiscard]] std::vector<std::vector<RegionNodes>> RuleRegions(const DataflowGraph& flow,
                                                                const std::vector<NamedRule>& rules,
                                                                std::span<const Runs> targets);

/// For each of `targets` that takes some of what `rule` offers and leaves the rest, how many, and a
/// node for which it leaves one: "native takes 2 of its 3 regions; it does not take node ...".
[[nodiscard]] std::vector<std::string> LeftOut(const DataflowGraph& flow, const NamedRule& rule,
                                               std::span<const Runs> targets);

}  // namespace msc
