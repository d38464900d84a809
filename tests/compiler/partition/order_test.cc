// The answer does not depend on the order in which targets or nodes are listed.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/hash.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/partition/generate/generate.h"
#include "compiler/partition/search/search.h"

namespace msc {
namespace {

template <class T>
void Shuffle(std::vector<T>& list, Rng& rng) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[rng.Below(i)]);
}

/// Takes some operators.
class Taker final : public Target {
 public:
  Taker(std::string name, std::set<std::string> ops)
      : facts_{std::move(name), "cpu", "1"}, ops_(std::move(ops)) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId node) const override {
    return ops_.contains(graph.node(node).op);
  }
  TargetFacts facts_;
  std::set<std::string> ops_;
};

/// Statements of a graph, and which of them each one reads from.
struct Statements {
  std::vector<std::string> texts;
  std::vector<std::vector<std::size_t>> reads;
  std::string outputs;
};

Statements Grown(Rng& rng) {
  const std::vector<std::string> ops = {"Relu", "Tanh", "Add", "Mul"};
  Statements all;
  std::vector<char> read(12, 0);
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::string& op = ops[rng.Below(ops.size())];
    std::string operands;
    all.reads.emplace_back();
    for (std::size_t k = 0; k < (op.size() == 3 ? 2U : 1U); ++k) {
      const std::size_t back = 1 + rng.Below(4);
      operands += operands.empty() ? "" : ", ";
      operands += back > i ? "%x" : "%v" + std::to_string(i - back);
      if (back > i) continue;
      all.reads.back().push_back(i - back);
      read[i - back] = 1;
    }
    all.texts.push_back("  %v" + std::to_string(i) + " = " + op + "(" + operands + ") @n" +
                        std::to_string(i) + " : f32[4]\n");
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] == 0) all.outputs += "  output %v" + std::to_string(i) + "\n";
  }
  return all;
}

/// Each behind what it reads, else in any order.
std::vector<std::size_t> AnyOrder(const std::vector<std::vector<std::size_t>>& reads, Rng& rng) {
  std::vector<std::size_t> left(reads.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::vector<std::size_t> order;
  std::set<std::size_t> done;
  while (!left.empty()) {
    Shuffle(left, rng);
    const auto ready = std::find_if(left.begin(), left.end(), [&](std::size_t i) {
      return std::all_of(reads[i].begin(), reads[i].end(),
                         [&](std::size_t from) { return done.contains(from); });
    });
    order.push_back(*ready);
    done.insert(*ready);
    left.erase(ready);
  }
  return order;
}

Graph GraphOf(const Statements& statements, const std::vector<std::size_t>& order) {
  std::string text = "graph g {\n  input %x : f32[4]\n";
  for (const std::size_t i : order) text += statements.texts[i];
  return ParseGraph(text + statements.outputs + "}");
}

/// Costs that depend on target and names alone: fewer for what is together.
void SetCosts(CoverProblem& problem) {
  for (CandidateRegion& candidate : problem.candidates) {
    std::set<std::string> names;
    candidate.nodes.ForEach([&](std::size_t i) { names.insert(problem.flow.node(i).name); });
    std::string key = candidate.target;
    for (const std::string& name : names) key += " " + name;
    const double each = 1 + static_cast<double>(Crc32c(key) % 1000) / 1000;
    candidate.cost = Cost::Micros(0.7 + each * static_cast<double>(names.size()));
  }
}

using Proposed = std::set<std::pair<std::string, std::set<std::string>>>;

Proposed ProposedOf(const CoverProblem& problem) {
  Proposed all;
  for (const CandidateRegion& candidate : problem.candidates) {
    std::set<std::string> names;
    candidate.nodes.ForEach([&](std::size_t i) { names.insert(problem.flow.node(i).name); });
    all.emplace(candidate.target, std::move(names));
  }
  return all;
}

TEST(Order, OfTargetsAndStatementsDoesNotMatter) {
  const Taker a("a", {"Relu", "Add"});
  const Taker b("b", {"Add", "Mul", "Tanh"});
  const Taker c("c", {"Relu", "Tanh", "Add", "Mul"});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const Statements statements = Grown(rng);
    std::vector<const Target*> targets = {&a, &b, &c};
    Proposed proposed;
    double micros = 0;
    for (int round = 0; round < 4; ++round) {
      const Graph graph = GraphOf(statements, AnyOrder(statements.reads, rng));
      CoverProblem problem{.flow = DataflowGraph(graph)};
      problem.candidates = GenerateCandidates(graph, problem.flow, targets);
      SetCosts(problem);
      const double found = FindCover(problem, "exact").value().micros;
      if (round == 0) {
        proposed = ProposedOf(problem);
        micros = found;
      }
      EXPECT_EQ(ProposedOf(problem), proposed) << seed;
      EXPECT_DOUBLE_EQ(found, micros) << seed;
      Shuffle(targets, rng);
    }
  }
}

TEST(Order, OfNodesDoesNotMatterToTheSearch) {
  const Taker a("a", {"Relu", "Add"});
  const Taker b("b", {"Add", "Mul", "Tanh", "Relu"});
  const Target* const targets[] = {&a, &b};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const Statements statements = Grown(rng);
    const Graph graph = GraphOf(statements, AnyOrder(statements.reads, rng));
    CoverProblem problem{.flow = DataflowGraph(graph)};
    problem.candidates = GenerateCandidates(graph, problem.flow, targets);
    SetCosts(problem);
    const double micros = FindCover(problem, "exact").value().micros;
    for (int round = 0; round < 3; ++round) {
      std::vector<std::vector<std::size_t>> reads;
      for (std::size_t i = 0; i < problem.flow.size(); ++i) {
        const std::vector<FlowIndex>& producers = problem.flow.producers(i);
        reads.emplace_back(producers.begin(), producers.end());
      }
      const std::vector<std::size_t> order = AnyOrder(reads, rng);
      std::vector<FlowNode> nodes;
      std::vector<std::size_t> place(order.size());
      for (const std::size_t i : order) {
        place[i] = nodes.size();
        nodes.push_back(problem.flow.node(i));
      }
      CoverProblem other{.flow = DataflowGraph(std::move(nodes), problem.flow.tensors()),
                         .candidates = problem.candidates};
      for (CandidateRegion& candidate : other.candidates) {
        IndexSet moved = other.flow.EmptySet();
        candidate.nodes.ForEach([&](std::size_t i) { moved.Insert(place[i]); });
        candidate.nodes = std::move(moved);
      }
      EXPECT_DOUBLE_EQ(FindCover(other, "exact").value().micros, micros) << seed;
    }
  }
}

}  // namespace
}  // namespace msc
