#include "compiler/partition/rules/pattern.h"

#include <algorithm>
#include <map>
#include <utility>

namespace msc {
namespace {

// A pattern with alternatives can match in exponentially many ways; these limits bound the work.
constexpr std::size_t kMaxMatches = 1000;
constexpr std::size_t kMaxPairs = 10'000;
/// Stands for an operand that is a weight and thus part of the node that reads it.
constexpr FlowIndex kWeight = kNoFlow - 1;

using Sets = std::vector<IndexSet>;

PatternPtr Make(Pattern::Kind kind, std::string op, std::vector<PatternPtr> parts) {
  return std::make_shared<Pattern>(
      Pattern{.kind = kind, .op = std::move(op), .parts = std::move(parts)});
}

/// Matches the parts of one pattern; caches the matches by part and node.
class Matcher {
 public:
  explicit Matcher(const DataflowGraph& flow) : flow_(flow) {}

  // Returns the sets of nodes that the match of `pattern` at `node` may consist of; empty if there
  // is no match. `node` is kNoFlow for an input of the graph, kWeight for a weight.
  const Sets& Match(const Pattern& pattern, FlowIndex node) {
    const auto key = std::pair(&pattern, node);
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    Sets sets = MatchAnew(pattern, node);
    return known_.emplace(key, std::move(sets)).first->second;
  }

 private:
  Sets MatchAnew(const Pattern& pattern, FlowIndex node) {
    if (pattern.kind == Pattern::Kind::kAny) return {flow_.EmptySet()};
    if (pattern.kind == Pattern::Kind::kEither) {
      Sets sets = Match(*pattern.parts[0], node);
      for (const IndexSet& set : Match(*pattern.parts[1], node)) Append(set, sets);
      return sets;
    }
    if (pattern.kind == Pattern::Kind::kConstant) {
      return node == kWeight ? Sets{flow_.EmptySet()} : Sets{};
    }
    if (node == kNoFlow || node == kWeight || flow_.node(node).op != pattern.op) return {};
    return MatchCall(pattern, node);
  }

  Sets MatchCall(const Pattern& pattern, FlowIndex node) {
    Sets sets = {IndexSet::Range(flow_.size(), node, node + 1)};
    if (pattern.kind == Pattern::Kind::kCallOf) return sets;
    const std::vector<PatternPtr>& parts = pattern.parts;
    std::vector<FlowIndex> operands = Operands(flow_.node(node));
    while (operands.size() > parts.size() && operands.back() == kWeight) operands.pop_back();
    if (parts.size() != operands.size()) return {};
    for (std::size_t i = 0; i < parts.size() && !sets.empty(); ++i) {
      sets = Product(sets, Match(*parts[i], operands[i]));
    }
    return sets;
  }

  [[nodiscard]] std::vector<FlowIndex> Operands(const FlowNode& node) const {
    std::vector<FlowIndex> operands;
    auto weight = node.weights.begin();
    const auto add_weights = [&] {
      for (; weight != node.weights.end() && *weight == operands.size(); ++weight) {
        operands.push_back(kWeight);
      }
    };
    for (const FlowIndex tensor : node.inputs) {
      add_weights();
      operands.push_back(flow_.tensor(tensor).producer);
    }
    add_weights();
    return operands;
  }

  static void Append(IndexSet set, Sets& sets) {
    if (sets.size() < kMaxMatches && std::find(sets.begin(), sets.end(), set) == sets.end()) {
      sets.push_back(std::move(set));
    }
  }

  [[nodiscard]] static Sets Product(const Sets& a, const Sets& b) {
    Sets product;
    std::size_t pairs = 0;
    for (const IndexSet& left : a) {
      for (const IndexSet& right : b) {
        if (++pairs > kMaxPairs) return product;
        Append(left | right, product);
      }
    }
    return product;
  }

  const DataflowGraph& flow_;
  std::map<std::pair<const Pattern*, FlowIndex>, Sets> known_;
};

}  // namespace

PatternPtr Any() {
  return Make(Pattern::Kind::kAny, "", {});
}
PatternPtr AnyConstant() {
  return Make(Pattern::Kind::kConstant, "", {});
}
PatternPtr Call(std::string op, std::vector<PatternPtr> operands) {
  return Make(Pattern::Kind::kCall, std::move(op), std::move(operands));
}
PatternPtr CallOf(std::string op) {
  return Make(Pattern::Kind::kCallOf, std::move(op), {});
}
PatternPtr CallEitherWay(std::string op, PatternPtr a, PatternPtr b) {
  PatternPtr swapped = Call(op, {b, a});
  return Either(Call(std::move(op), {std::move(a), std::move(b)}), std::move(swapped));
}
PatternPtr Either(PatternPtr a, PatternPtr b) {
  return Make(Pattern::Kind::kEither, "", {std::move(a), std::move(b)});
}
std::vector<IndexSet> FindMatches(const DataflowGraph& flow, const Pattern& pattern,
                                  std::size_t root) {
  return Matcher(flow).Match(pattern, static_cast<FlowIndex>(root));
}

}  // namespace msc
