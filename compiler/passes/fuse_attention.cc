#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ops/attention.h"
#include "compiler/ops/op.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/match.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

// A value with the transposes and scalar factors that are applied to it, in any order.
struct Operand {
  ValueId value = kNoValue;
  Ints perm;
  double factor = 1.0;
};

Ints CountingUp(std::size_t rank) {
  Ints perm;
  for (std::size_t i = 0; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  return perm;
}

// Returns the perm of Transpose-13; an absent one reverses the axes.
Ints PermOf(const Node& transpose, std::size_t rank) {
  Ints perm = AttrOr<Ints>(transpose, "perm", {});
  if (!perm.empty()) return perm;
  perm = CountingUp(rank);
  std::reverse(perm.begin(), perm.end());
  return perm;
}

bool IsF32(const Graph& graph, ValueId value) {
  return graph.type(value).dtype == DType::kF32 && Rank(graph.type(value));
}

// Returns the input of a Mul or Div by a number, and the factor.
std::optional<std::pair<ValueId, double>> ReadScaling(const Graph& graph, ValueId value) {
  for (const char* op : {"Mul", "Div"}) {
    const Node* node = MadeBy(graph, value, op);
    const auto step = node == nullptr ? std::nullopt : ReadScalarStep(graph, *node);
    if (!step) continue;
    const auto number = static_cast<double>(step->scalar);
    return std::pair{step->value, node->Is("Div") ? 1.0 / number : number};
  }
  return std::nullopt;
}

Operand ReadOperand(const Graph& graph, ValueId value) {
  const std::size_t rank = *Rank(graph.type(value));
  Operand operand{.value = value, .perm = CountingUp(rank), .factor = 1.0};
  while (true) {
    if (const auto scaling = ReadScaling(graph, operand.value)) {
      operand.value = scaling->first;
      operand.factor *= scaling->second;
      continue;
    }
    const Node* transpose = MadeBy(graph, operand.value, "Transpose");
    if (transpose == nullptr) return operand;
    const Ints inner = PermOf(*transpose, rank);
    for (std::int64_t& axis : operand.perm) axis = inner[static_cast<std::size_t>(axis)];
    operand.value = transpose->inputs[0];
  }
}

// Returns whether all dimensions but the last two are known and equal.
bool SameBatch(const Graph& graph, ValueId a, ValueId b) {
  const Shape& left = *graph.type(a).shape;
  const Shape& right = *graph.type(b).shape;
  if (left.size() != right.size()) return false;
  return std::equal(left.begin(), left.end() - 2, right.begin(),
                    [](const Dim& x, const Dim& y) { return x.known() && x.size() == y.size(); });
}

struct Scores {
  const Node* product = nullptr;  ///< q * transpose(k)
  double factor = 1.0;
  ValueId mask = kNoValue;
  std::vector<NodeId> nodes;  ///< in order, the product first
};

// Reads the operand of Softmax: a scaled product, plus a mask. Each step has no other reader.
std::optional<Scores> ReadScores(const Graph& graph, ValueId value) {
  Scores scores;
  const auto take = [&](ValueId made) {
    scores.nodes.push_back(graph.producer(made));
    return OnlyReader(graph, made).has_value();
  };
  if (const Node* add = MadeBy(graph, value, "Add"); add != nullptr) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
      ValueId rest = add->inputs[at];
      if (const auto scaling = ReadScaling(graph, rest)) rest = scaling->first;
      if (MadeBy(graph, rest, "MatMul") == nullptr || !IsF32(graph, add->inputs[1 - at]) ||
          !SurelySameShape(graph.type(add->inputs[at]), graph.type(value))) {
        continue;
      }
      if (!take(value)) return std::nullopt;
      scores.mask = add->inputs[1 - at];
      value = add->inputs[at];
      break;
    }
  }
  if (const auto scaling = ReadScaling(graph, value)) {
    if (!take(value)) return std::nullopt;
    scores.factor = scaling->second;
    value = scaling->first;
  }
  scores.product = MadeBy(graph, value, "MatMul");
  if (scores.product == nullptr || !take(value)) return std::nullopt;
  std::reverse(scores.nodes.begin(), scores.nodes.end());
  return scores;
}

struct Probabilities {
  const Node* softmax = nullptr;
  bool zero_nan = false;
  std::vector<NodeId> nodes;  ///< in order, the softmax first
};

// Reads the weights of the second product: a Softmax, or Where(IsNaN(it), 0, it), which PyTorch's
// exporter writes because of rows that a mask excludes. Each step has no other reader.
std::optional<Probabilities> ReadSoftmax(const Graph& graph, ValueId value) {
  if (!OnlyReader(graph, value)) return std::nullopt;
  Probabilities read{.nodes = {graph.producer(value)}};
  if (const Node* where = MadeBy(graph, value, "Where"); where != nullptr) {
    const ValueId kept = where->inputs[2];
    const Node* is_nan = MadeBy(graph, where->inputs[0], "IsNaN");
    const bool guards = is_nan != nullptr && is_nan->inputs[0] == kept &&
                        OnlyReader(graph, where->inputs[0]) && graph.uses(kept).size() == 2 &&
                        !graph.IsOutput(kept) && !IsCaptured(graph, kept) &&
                        ScalarOf(graph, where->inputs[1]) == 0.0F &&
                        SurelySameShape(graph.type(kept), graph.type(value));
    if (!guards) return std::nullopt;
    read.zero_nan = true;
    read.nodes = {graph.producer(kept), graph.producer(where->inputs[0]), read.nodes[0]};
    value = kept;
  }
  read.softmax = MadeBy(graph, value, "Softmax");
  return read.softmax == nullptr ? std::nullopt : std::optional(std::move(read));
}

bool IsLastAxis(const Node& softmax, std::size_t rank) {
  const std::int64_t axis = AttrOr<std::int64_t>(softmax, "axis", -1);
  return axis == -1 || axis + 1 == static_cast<std::int64_t>(rank);
}

bool FuseAt(Graph& graph, NodeId root, const Takes& takes) {
  const Node& last = graph.node(root);
  if (!last.Is("MatMul") || !IsF32(graph, last.inputs[0]) || !IsF32(graph, last.inputs[1])) {
    return false;
  }
  const auto weights = ReadSoftmax(graph, last.inputs[0]);
  const std::size_t rank = *Rank(graph.type(last.inputs[0]));
  if (!weights || rank < 2 || !IsLastAxis(*weights->softmax, rank) ||
      !SameBatch(graph, last.inputs[0], last.inputs[1])) {
    return false;
  }
  const auto scores = ReadScores(graph, weights->softmax->inputs[0]);
  if (!scores || !IsF32(graph, scores->product->inputs[0]) ||
      !IsF32(graph, scores->product->inputs[1]) ||
      !SameBatch(graph, scores->product->inputs[0], scores->product->inputs[1]) ||
      !SameBatch(graph, scores->product->inputs[0], last.inputs[1])) {
    return false;
  }
  const Operand q = ReadOperand(graph, scores->product->inputs[0]);
  Operand k = ReadOperand(graph, scores->product->inputs[1]);
  std::swap(k.perm[rank - 1], k.perm[rank - 2]);
  Operand v{.value = last.inputs[1], .perm = CountingUp(rank), .factor = 1.0};
  if (const Operand read = ReadOperand(graph, v.value); read.factor == 1.0) v = read;

  std::vector<NodeId> nodes = scores->nodes;
  nodes.insert(nodes.end(), weights->nodes.begin(), weights->nodes.end());
  nodes.push_back(root);
  Ints y_perm = CountingUp(rank);
  const auto reader = OnlyReader(graph, last.outputs.front());
  if (reader && graph.node(reader->node).Is("Transpose")) {
    y_perm = PermOf(graph.node(reader->node), rank);
    nodes.push_back(reader->node);
  }
  const ValueId output = graph.node(nodes.back()).outputs.front();
  if (IsCaptured(graph, output)) return false;
  Node fused{.op = "Attention", .domain = "msc", .inputs = {q.value, k.value, v.value}};
  if (scores->mask != kNoValue) fused.inputs.push_back(scores->mask);
  fused.attrs["scale"] = static_cast<float>(q.factor * k.factor * scores->factor);
  if (weights->zero_nan) fused.attrs["zero_nan"] = std::int64_t{1};
  const auto keep = [&](const char* name, const Ints& perm) {
    if (perm != CountingUp(rank)) fused.attrs.insert_or_assign(name, perm);
  };
  keep("q_perm", q.perm);
  keep("k_perm", k.perm);
  keep("v_perm", v.perm);
  keep("y_perm", y_perm);
  if (!WouldTake(graph, fused, graph.type(output), nodes.back(), takes)) return false;
  ReplaceChain(graph, nodes, std::move(fused));
  return true;
}

}  // namespace

bool FuseAttention(Graph& graph, const Takes& takes) {
  return Sweep(graph, [&](NodeId id) { return FuseAt(graph, id, takes); });
}

}  // namespace msc
