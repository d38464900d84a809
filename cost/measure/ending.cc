#include "cost/measure/ending.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/ir/extract.h"

namespace msc::cost {
namespace {

bool IsOneOf(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](std::string_view op) { return node.Is(op); });
}

bool Decides(const Node& node) {
  return IsOneOf(node, {"ArgMax", "ArgMin", "Ceil", "Erf", "Floor", "HardSigmoid", "Hardmax",
                        "Round", "Sigmoid", "Sign", "Softmax", "Softsign", "Tanh", "TopK"});
}

/// Returns whether a node belongs to the part in front of the end: its results depend on how the
/// target multiplies, or on nested graphs.
bool ComesBefore(const Node& node) {
  return !node.captures.empty() || !node.domain.empty() ||
         IsOneOf(node, {"Conv", "ConvInteger", "ConvTranspose", "Einsum", "GRU", "Gemm", "If",
                        "LSTM", "Loop", "MatMul", "MatMulInteger", "QLinearConv", "QLinearMatMul",
                        "RNN", "Scan"});
}

/// Walks from the outputs backwards to the first decisions.
class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph) {
    for (const ValueId output : graph.outputs()) Visit(output);
  }
  [[nodiscard]] bool decides() const { return decides_; }
  [[nodiscard]] std::vector<NodeId> Nodes() const {
    std::vector<NodeId> nodes;
    for (const NodeId id : graph_.order()) {
      if (nodes_.contains(id)) nodes.push_back(id);
    }
    return nodes;
  }

 private:
  void Visit(ValueId from) {
    std::vector<ValueId> open = {from};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      const NodeId id = value == kNoValue ? kNoNode : graph_.producer(value);
      if (id == kNoNode || ComesBefore(graph_.node(id)) || !nodes_.insert(id).second) continue;
      const Node& node = graph_.node(id);
      if (Decides(node)) {
        decides_ = true;
      } else {
        open.insert(open.end(), node.inputs.begin(), node.inputs.end());
      }
    }
  }

  const Graph& graph_;
  std::set<NodeId> nodes_;
  bool decides_ = false;
};

}  // namespace

std::optional<Ending> FindEnding(const Graph& canonical, const CompileOptions& options) {
  Ending ending;
  ending.whole = BindSizes(canonical, options);
  const Graph& bound = ending.whole;
  const Walk walk(bound);
  if (!walk.decides()) return std::nullopt;
  Extracted part = Extract(bound, walk.Nodes());
  std::set<ValueId> decided(part.inputs.begin(), part.inputs.end());
  std::vector<ValueId> given;
  for (std::size_t i = 0; i < bound.outputs().size(); ++i) {
    const ValueId output = bound.outputs()[i];
    const ValueId inner = part.graph.FindValue(bound.value(output).name);
    if (inner == kNoValue || part.graph.producer(inner) == kNoNode) {
      decided.insert(output);
    } else {
      ending.positions.push_back(i);
      given.push_back(inner);
    }
  }
  std::vector<ValueId> outputs = bound.outputs();
  for (const ValueId value : decided) {
    if (bound.producer(value) == kNoNode) continue;  // an input or a constant cannot differ
    ending.decided.push_back(bound.value(value).name);
    const auto it = std::find(outputs.begin(), outputs.end(), value);
    ending.decided_at.push_back(static_cast<std::size_t>(it - outputs.begin()));
    if (it == outputs.end()) outputs.push_back(value);
  }
  if (ending.decided.empty()) return std::nullopt;
  ending.rest = std::move(part.graph);
  ending.rest.SetOutputs(std::move(given));
  ending.whole.SetOutputs(std::move(outputs));
  return ending;
}

}  // namespace msc::cost
