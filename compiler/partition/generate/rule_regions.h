#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/partition/generate/units.h"
#include "compiler/partition/rules/rule_file.h"
#include "compiler/targets/target.h"

namespace msc {

/// The nodes of a graph that a target supports.
struct Runs {
  const Target* target = nullptr;
  IndexSet nodes;
};

/// Returns whether `list` contains the target's name ("onednn", for any options) or its spec.
[[nodiscard]] bool NamesTarget(const std::vector<std::string>& list, const Target& target);

/// Returns the matches of the target's own patterns that are convex and supported by the target.
/// UserError with the name of the target if one of its patterns does not parse.
[[nodiscard]] std::vector<RegionNodes> PatternRegions(const DataflowGraph& flow, const Runs& runs);

/// Returns for each of `targets` the regions of `rules` that are convex and supported by the
/// target. UserError as GenerateCandidates.
[[nodiscard]] std::vector<std::vector<RegionNodes>> RuleRegions(const DataflowGraph& flow,
                                                                const std::vector<NamedRule>& rules,
                                                                std::span<const Runs> targets);

/// Returns a sentence for each of `targets` that supports only some regions of `rule`, with their
/// number and an unsupported node: "native takes 2 of its 3 regions; it does not take node ...".
[[nodiscard]] std::vector<std::string> LeftOut(const DataflowGraph& flow, const NamedRule& rule,
                                               std::span<const Runs> targets);

}  // namespace msc
