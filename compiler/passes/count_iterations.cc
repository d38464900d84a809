#include "compiler/passes/count_iterations.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Elements of tensors that may decide a condition: counters and their limits.
constexpr std::int64_t kMostElements = 16;

/// Iterations that are counted one by one: a graph may have thousands of loops.
constexpr std::int64_t kMostCounted = 2'000;

/// What conditions of loops are made of. Small inputs of these give small outputs.
bool IsCounting(const Node& node) {
  static const std::set<std::string_view> ops = {
      "Abs",  "Add",      "And", "Cast",  "Div", "Equal",   "Gather",   "Greater", "GreaterOrEqual",
      "Less", "Identity", "Max", "Min",   "Mod", "Mul",     "Neg",      "Not",     "LessOrEqual",
      "Or",   "Reshape",  "Sub", "Where", "Xor", "Squeeze", "Unsqueeze"};
  return node.domain.empty() && ops.contains(node.op);
}

template <typename T>
TensorPtr Scalar(DType dtype, T value) {
  return std::make_shared<const Tensor>(Tensor::From<T>(dtype, {}, std::span(&value, 1)));
}

std::optional<bool> TruthOf(const TensorPtr& value) {
  if (value == nullptr || value->dtype() != DType::kBool || value->size() != 1) return std::nullopt;
  return value->Values<std::uint8_t>()[0] != 0;
}

TensorPtr Small(TensorPtr tensor) {
  return tensor != nullptr && static_cast<std::int64_t>(tensor->size()) <= kMostElements
             ? std::move(tensor)
             : nullptr;
}

/// Values of a body in one iteration that follow from constants.
class Iteration {
 public:
  Iteration(const Graph& graph, const Graph& body) : body_(body) {
    for (const ValueId id : body.constants()) Know(id, body.constant(id));
    for (const ValueId id : body.captured()) {
      Know(id, graph.constant(graph.FindValue(body.value(id).name)));
    }
  }

  void Know(ValueId id, TensorPtr tensor) {
    if ((tensor = Small(std::move(tensor))) != nullptr) known_[id] = std::move(tensor);
  }

  /// nullptr if it is not known.
  [[nodiscard]] TensorPtr Of(ValueId id) const {
    const auto it = known_.find(id);
    return it == known_.end() ? nullptr : it->second;
  }

  void Run() {
    for (const NodeId id : body_.order()) {
      const Node& node = body_.node(id);
      if (IsCounting(node)) Run(node);
    }
  }

 private:
  void Run(const Node& node) {
    std::vector<TensorPtr> given;
    std::vector<const Tensor*> inputs;
    for (const ValueId id : node.inputs) {
      given.push_back(Of(id));
      if (id != kNoValue && given.back() == nullptr) return;
      inputs.push_back(given.back().get());
    }
    try {
      std::vector<Tensor> made = Ops().Get(node).eval(node, inputs);
      Know(node.outputs.front(), std::make_shared<const Tensor>(std::move(made.front())));
    } catch (const UserError&) {
      // A run will say it, if it needs the value.
    }
  }

  const Graph& body_;
  std::map<ValueId, TensorPtr> known_ = {};
};

/// Returns whether a body gives the condition on as it takes it, as counted loops do.
bool KeepsCondition(const Graph& body) {
  ValueId value = body.outputs().front();
  while (body.producer(value) != kNoNode) {
    const Node& maker = body.node(body.producer(value));
    if (!maker.Is("Identity")) return false;
    value = maker.inputs.front();
  }
  return value == body.inputs()[1] || TruthOf(body.constant(value)).value_or(false);
}

}  // namespace

std::optional<std::int64_t> CountIterations(const Graph& graph, const Node& loop, const Graph& body,
                                            std::int64_t most) {
  std::optional<std::int64_t> limit;
  if (loop.HasInput(0)) {
    const TensorPtr count = graph.constant(loop.Input(0));
    if (count == nullptr || count->dtype() != DType::kI64 || count->size() != 1)
      return std::nullopt;
    limit = count->Values<std::int64_t>()[0];
  }
  std::vector<TensorPtr> state;
  for (std::size_t i = 1; i < loop.inputs.size(); ++i) {
    state.push_back(Small(graph.constant(loop.inputs[i])));
  }
  if (!loop.HasInput(1)) state.front() = Scalar<std::uint8_t>(DType::kBool, 1);
  if (KeepsCondition(body)) {
    const std::optional<bool> going = TruthOf(state.front());
    if (!going || (*going && (!limit || *limit > most))) return std::nullopt;
    return *going ? std::max<std::int64_t>(*limit, 0) : 0;
  }
  const Iteration constants(graph, body);
  for (std::int64_t i = 0; i <= std::min(most, kMostCounted); ++i) {
    const std::optional<bool> going = TruthOf(state.front());
    if (!going) return std::nullopt;
    if (!*going || (limit && i >= *limit)) return i;
    Iteration iteration = constants;
    iteration.Know(body.inputs()[0], Scalar<std::int64_t>(DType::kI64, i));
    for (std::size_t k = 0; k < state.size(); ++k) iteration.Know(body.inputs()[k + 1], state[k]);
    iteration.Run();
    for (std::size_t k = 0; k < state.size(); ++k) state[k] = iteration.Of(body.outputs()[k]);
  }
  return std::nullopt;
}

}  // namespace msc
