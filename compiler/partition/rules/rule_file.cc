#include "compiler/partition/rules/rule_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/nearest.h"
#include "compiler/ops/op.h"
#include "compiler/partition/rules/combine.h"
#include "compiler/partition/rules/pattern_text.h"

namespace msc {
namespace {

constexpr std::size_t kMaxRules = 200;
constexpr std::size_t kMaxLetters = 40;

/// Names of the rules of GenerateCandidates itself.
constexpr std::array<std::string_view, 6> kTaken = {"unit",  "run",         "greedy",
                                                    "whole", "shared unit", "node"};

/// A rule of the file, parsed.
struct Entry {
  std::string name;
  std::vector<std::string> targets;
  std::optional<std::string> pattern;
  std::optional<std::string> siblings;
  std::optional<std::vector<std::string>> nodes;
  std::optional<std::vector<std::string>> combine;
  std::optional<std::string> join;
  std::optional<std::int64_t> max_depth;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("name", self.name, "name of the rule, for the table");
    visit("targets", self.targets, "targets that the rule applies to; empty = all");
    visit("pattern", self.pattern, "pattern of operators");
    visit("siblings", self.siblings, "operator of calls that read the same tensors");
    visit("nodes", self.nodes, "names of nodes");
    visit("combine", self.combine, "names of rules before it");
    visit("join", self.join, "which sub-graphs are joined",
          Within::OneOf({"anything", "anchors", "siblings", "tvm"}));
    visit("max_depth", self.max_depth, "largest number of nodes on a path", Within{2, 64});
  }
};

struct File {
  std::vector<Entry> rules;
  std::vector<std::string> only;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("rules", self.rules, "rules that propose sub-graphs");
    visit("only", self.only, "targets that get only single nodes and the sub-graphs of rules");
  }
};

bool InName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ' ';
}

void CheckName(const std::string& name, const std::string& path) {
  const bool fits = !name.empty() && name.size() <= kMaxLetters && name.front() != ' ' &&
                    name.back() != ' ' && std::all_of(name.begin(), name.end(), InName);
  if (!fits) {
    throw UserError("'" + path + ".name' must be 1 to " + std::to_string(kMaxLetters) +
                    " letters, digits, '_', '-', '.' or inner spaces");
  }
  if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end()) {
    throw UserError("'" + path + ".name' must not be '" + name +
                    "', which stands for regions that targets propose; choose another");
  }
}

void CheckOperator(const std::string& name, const std::string& path) {
  std::vector<std::string> known;
  for (const OpDef* op : Ops().All()) {
    known.push_back(op->domain.empty() ? op->name : op->domain + "." + op->name);
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UserError("'" + path + "': there is no operator '" + name.substr(0, kMaxLetters) + "'" +
                  DidYouMean(name, known));
}

Combiner CombinerOf(const std::string& join) {
  if (join == "anchors") return JoinAnchors();
  if (join == "siblings") return JoinSiblings();
  if (join == "tvm") return JoinLikeTvm();
  return JoinAnything();
}

Rule Combined(const Entry& entry, const std::string& path,
              const std::map<std::string, Rule>& before) {
  std::vector<std::string> names;
  names.reserve(before.size());
  for (const auto& [name, rule] : before) names.push_back(name);
  std::vector<Rule> parts;
  for (const std::string& name : std::set(entry.combine->begin(), entry.combine->end())) {
    const auto it = before.find(name);
    if (it == before.end()) {
      throw UserError("'" + path + ".combine' names '" + name.substr(0, kMaxLetters) +
                      "', which is no rule before it without combine" + DidYouMean(name, names));
    }
    parts.push_back(it->second);
  }
  if (parts.empty()) throw UserError("'" + path + ".combine' must name a rule");
  constexpr std::int64_t kDepth = 4;
  return CombineRule(UnionRule(std::move(parts)), {CombinerOf(entry.join.value_or("anything"))},
                     static_cast<std::size_t>(entry.max_depth.value_or(kDepth)));
}

Rule RuleOf(const Entry& entry, const std::string& path,
            const std::map<std::string, Rule>& before) {
  const int kinds =
      static_cast<int>(entry.pattern.has_value()) + static_cast<int>(entry.siblings.has_value()) +
      static_cast<int>(entry.nodes.has_value()) + static_cast<int>(entry.combine.has_value());
  if (kinds != 1) {
    throw UserError("'" + path + "' must have exactly one of pattern, siblings, nodes and combine");
  }
  if (!entry.combine && (entry.join || entry.max_depth)) {
    throw UserError("'" + path + "' has join or max_depth, which go with combine alone");
  }
  if (entry.pattern) {
    return PatternRule(ParsePattern(*entry.pattern, "'" + path + ".pattern'"));
  }
  if (entry.siblings) {
    CheckOperator(*entry.siblings, path + ".siblings");
    return SiblingRule(*entry.siblings);
  }
  if (entry.combine) return Combined(entry, path, before);
  if (entry.nodes->empty()) throw UserError("'" + path + ".nodes' must name a node");
  return UserRule({*entry.nodes});
}

PartitionRules SetOf(File file) {
  if (file.rules.size() > kMaxRules) {
    throw UserError("'rules' must be at most " + std::to_string(kMaxRules) + ", not " +
                    std::to_string(file.rules.size()));
  }
  PartitionRules set{.rules = {}, .only = std::move(file.only)};
  std::set<std::string> names;
  std::map<std::string, Rule> parts;  // of `combine`; without such rules, so that none is deep
  for (std::size_t i = 0; i < file.rules.size(); ++i) {
    Entry& entry = file.rules[i];
    const std::string path = "rules[" + std::to_string(i) + "]";
    CheckName(entry.name, path);
    if (!names.insert(entry.name).second) {
      throw UserError("'" + path + ".name': there is a rule '" + entry.name +
                      "' before it; choose another name");
    }
    Rule rule = RuleOf(entry, path, parts);
    if (!entry.combine) parts.emplace(entry.name, rule);
    set.rules.push_back({.name = std::move(entry.name),
                         .targets = std::move(entry.targets),
                         .exact = entry.nodes.has_value(),
                         .rule = std::move(rule)});
  }
  return set;
}

}  // namespace

PartitionRules ParsePartitionRules(std::string_view text, const std::string& what) {
  try {
    return SetOf(FromJsonText<File>(text, "the file"));
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
}

}  // namespace msc
