#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ir/run_value.h"
#include "compiler/ops/branches.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Rejects an input that does not have the type of its graph input. A symbol must have the same
/// size in all inputs.
void CheckInput(const Value& value, const RunValue& given, ShapeBindings& bound) {
  const ValueType type = TypeOf(given);
  const auto refuse = [&] {
    throw UserError("input '" + value.name + "' must be " + ToString(value.type) + ", not " +
                    ToString(type));
  };
  if (value.type.container != type.container) refuse();
  if (value.type.dtype != DType::kUndefined && value.type.dtype != type.dtype) refuse();
  if (!value.type.shape || !type.shape) return;
  const Shape& shape = *value.type.shape;
  if (shape.size() != type.shape->size()) refuse();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t size = (*type.shape)[i].size();
    if (shape[i].known() && shape[i].size() != size) refuse();
    if (shape[i].symbol().empty()) continue;
    if (bound.try_emplace(shape[i].symbol(), size).first->second != size) refuse();
  }
}

/// Returns a value as what a graph input takes: an optional input takes what it may hold.
RunValue Given(const ValueType& type, RunValue value) {
  const bool holds =
      (type.container == Container::kOptional && value.container == Container::kTensor) ||
      (type.container == Container::kOptionalSequence && value.container == Container::kSequence);
  if (holds) value.container = type.container;
  return value;
}

/// Values of one run. Each value is freed after its last reader.
class Run {
 public:
  Run(const Graph& graph, const std::function<void(ValueId, const Tensor&)>& tap)
      : graph_(graph), tap_(tap) {
    for (const ValueId id : graph.values()) {
      readers_[id] = graph.uses(id).size() + (graph.IsOutput(id) ? 1 : 0);
      if (TensorPtr constant = graph.constant(id)) {
        values_.emplace(id, RunValueOf(std::move(constant)));
      }
    }
  }

  void Put(ValueId id, RunValue value) {
    if (tap_ && value.container == Container::kTensor) tap_(id, *value.tensors.front());
    if (readers_[id] != 0) values_.insert_or_assign(id, std::move(value));
  }

  /// Returns nullptr for kNoValue.
  [[nodiscard]] const RunValue* Get(ValueId id) const {
    if (id == kNoValue) return nullptr;
    const auto it = values_.find(id);
    if (it != values_.end()) return &it->second;
    throw UserError("value '" + graph_.value(id).name + "' is not available to the interpreter");
  }

  void Release(ValueId id) {
    if (id != kNoValue && --readers_[id] == 0) values_.erase(id);
  }

 private:
  const Graph& graph_;
  const std::function<void(ValueId, const Tensor&)>& tap_;
  std::map<ValueId, RunValue> values_;
  std::map<ValueId, std::size_t> readers_;
};

/// Returns the tensors of operands; those that are none are left out of `all`.
std::vector<const Tensor*> TensorsOf(std::span<const RunValue* const> values, bool& all) {
  std::vector<const Tensor*> tensors;
  for (const RunValue* value : values) {
    if (value != nullptr && value->container != Container::kTensor) all = false;
    tensors.push_back(value == nullptr ? nullptr : TensorIn(*value));
  }
  return tensors;
}

/// Returns the values by the names that nested graphs know them by.
CapturedValues CapturesOf(const Graph& graph, const Node& node, const Run& run) {
  CapturedValues captured;
  for (const ValueId id : node.captures) captured.emplace(graph.value(id).name, *run.Get(id));
  return captured;
}

std::vector<RunValue> Compute(const Graph& graph, const Node& node, const OpDef& op,
                              const Run& run) {
  std::vector<const RunValue*> in;
  in.reserve(node.inputs.size());
  for (const ValueId value : node.inputs) in.push_back(run.Get(value));
  bool all = true;
  const std::vector<const Tensor*> tensors = TensorsOf(in, all);
  if (op.eval_values && (!all || !op.computes_tensors)) {
    return op.eval_values(node, in, CapturesOf(graph, node, run));
  }
  if (!all) RejectNode(node, "takes tensors, and was given a sequence or an optional");
  std::vector<RunValue> out;
  for (Tensor& tensor : op.eval(node, tensors)) out.push_back(RunValueOf(std::move(tensor)));
  return out;
}

void RunNode(const Graph& graph, NodeId id, const OpRegistry& ops, Run& run) {
  CheckNode(graph, id, ops);
  const Node& node = graph.node(id);
  std::vector<RunValue> out = Compute(graph, node, ops.Get(node), run);
  Check(out.size() >= node.outputs.size(), "a kernel gives every output");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue) run.Put(node.outputs[i], std::move(out[i]));
  }
  for (const auto* list : {&node.inputs, &node.captures}) {
    for (const ValueId value : *list) run.Release(value);
  }
}

/// Returns whether nothing that this run wants reads the outputs of a node.
bool IsLeftOut(const Branches& branches, NodeId id, const Run& run) {
  const auto guards = branches.guards.find(id);
  if (guards == branches.guards.end()) return false;
  return std::any_of(guards->second.begin(), guards->second.end(), [&](const Guard& guard) {
    const Tensor* truth = TensorIn(*run.Get(guard.condition));
    return truth != nullptr && truth->dtype() == DType::kBool &&
           (truth->Values<std::uint8_t>()[0] != 0) != guard.value;
  });
}

/// Gives the outputs of a node that did not run zeros; returns false if their sizes are unknown.
bool PutZeros(const Graph& graph, NodeId id, Run& run) {
  const Node& node = graph.node(id);
  std::vector<std::pair<ValueId, Tensor>> zeros;
  for (const ValueId output : node.outputs) {
    if (output == kNoValue) continue;
    const ValueType& type = graph.type(output);
    const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
    const bool known = type.container == Container::kTensor && type.dtype != DType::kUndefined;
    if (!dims || !known) return false;
    zeros.emplace_back(output, Tensor(type.dtype, *dims));
  }
  for (auto& [output, zero] : zeros) run.Put(output, RunValueOf(std::move(zero)));
  for (const auto* list : {&node.inputs, &node.captures}) {
    for (const ValueId value : *list) run.Release(value);
  }
  return true;
}

/// Runs the nodes. All branches of choices are computed; in one that is not chosen, the values may
/// be such as a kernel refuses.
void RunNodes(const Graph& graph, const OpRegistry& ops, Run& run) {
  std::optional<Branches> branches;
  for (const NodeId id : graph.order()) {
    try {
      RunNode(graph, id, ops, run);
    } catch (const UserError&) {
      if (!branches) branches = FindBranches(graph);
      if (!IsLeftOut(*branches, id, run) || !PutZeros(graph, id, run)) throw;
    }
  }
}

void CheckCount(const Graph& graph, std::size_t inputs) {
  if (inputs == graph.inputs().size()) return;
  throw UserError("graph '" + graph.name() + "' takes " + std::to_string(graph.inputs().size()) +
                  " inputs, not " + std::to_string(inputs));
}

std::vector<RunValue> RunGraph(const Graph& graph, std::span<const RunValue> inputs,
                               const CapturedValues& captured,
                               const std::function<void(ValueId, const Tensor&)>& tap,
                               const OpRegistry& ops) {
  CheckCount(graph, inputs.size());
  Run run(graph, tap);
  ShapeBindings bound;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i]);
    RunValue given = Given(input.type, inputs[i]);
    CheckInput(input, given, bound);
    run.Put(graph.inputs()[i], std::move(given));
  }
  for (const ValueId id : graph.captured()) {
    const auto it = captured.find(graph.value(id).name);
    Check(it != captured.end(), "the node of a nested graph lists what the graph reads");
    run.Put(id, it->second);
  }
  RunNodes(graph, ops, run);
  std::vector<RunValue> outputs;
  outputs.reserve(graph.outputs().size());
  for (const ValueId id : graph.outputs()) outputs.push_back(*run.Get(id));
  return outputs;
}

}  // namespace

std::vector<Tensor> Interpret(const Graph& graph, std::span<const Tensor> inputs,
                              const std::function<void(ValueId, const Tensor&)>& tap,
                              const OpRegistry& ops) {
  CheckCount(graph, inputs.size());
  std::vector<RunValue> given;
  given.reserve(inputs.size());
  // The caller keeps the inputs, so they are referred to without ownership.
  for (const Tensor& input : inputs) {
    given.push_back(RunValueOf(TensorPtr(std::shared_ptr<const void>(), &input)));
  }
  std::vector<Tensor> outputs;
  for (const RunValue& value : RunGraph(graph, given, {}, tap, ops)) {
    if (value.container != Container::kTensor) {
      throw UserError("graph '" + graph.name() + "' gives " + ToString(TypeOf(value)) +
                      ", which is no tensor");
    }
    outputs.push_back(*value.tensors.front());
  }
  return outputs;
}

std::vector<RunValue> InterpretValues(const Graph& graph, std::span<const RunValue> inputs,
                                      const CapturedValues& captured,
                                      const std::function<void(ValueId, const Tensor&)>& tap) {
  return RunGraph(graph, inputs, captured, tap, Ops());
}

}  // namespace msc
