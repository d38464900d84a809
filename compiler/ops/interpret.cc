#include <map>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Rejects an input tensor that does not have the type of its graph input. A symbol must have the
/// same size in all inputs.
void CheckInput(const Value& value, const Tensor& tensor, ShapeBindings& bound) {
  const auto refuse = [&] {
    throw UserError("input '" + value.name + "' must be " + ToString(value.type) + ", not " +
                    std::string(Name(tensor.dtype())) + ToString(tensor.dims()));
  };
  if (value.type.dtype != DType::kUndefined && value.type.dtype != tensor.dtype()) refuse();
  if (!value.type.shape) return;
  const Shape& shape = *value.type.shape;
  if (shape.size() != tensor.dims().size()) refuse();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t size = tensor.dims()[i];
    if (shape[i].known() && shape[i].size() != size) refuse();
    if (shape[i].symbol().empty()) continue;
    if (bound.try_emplace(shape[i].symbol(), size).first->second != size) refuse();
  }
}

/// Values of one run. Each value is freed after its last reader.
class Run {
 public:
  Run(const Graph& graph, const std::function<void(ValueId, const Tensor&)>& tap)
      : graph_(graph), tap_(tap) {
    for (const ValueId id : graph.values()) {
      readers_[id] = graph.uses(id).size() + (graph.IsOutput(id) ? 1 : 0);
    }
  }

  void Put(ValueId id, Tensor tensor) {
    if (tap_) tap_(id, tensor);
    if (readers_[id] != 0) values_.insert_or_assign(id, std::move(tensor));
  }

  /// Returns nullptr for kNoValue.
  [[nodiscard]] const Tensor* Get(ValueId id) const {
    if (id == kNoValue) return nullptr;
    const auto it = values_.find(id);
    if (it != values_.end()) return &it->second;
    const TensorPtr constant = graph_.constant(id);
    if (constant == nullptr) {
      throw UserError("value '" + graph_.value(id).name + "' is not available to the interpreter");
    }
    return constant.get();
  }

  void Release(ValueId id) {
    if (id != kNoValue && --readers_[id] == 0) values_.erase(id);
  }

 private:
  const Graph& graph_;
  const std::function<void(ValueId, const Tensor&)>& tap_;
  std::map<ValueId, Tensor> values_;
  std::map<ValueId, std::size_t> readers_;
};

void RunNode(const Graph& graph, NodeId id, const OpRegistry& ops, Run& run) {
  CheckNode(graph, id, ops);
  const Node& node = graph.node(id);
  std::vector<const Tensor*> in;
  in.reserve(node.inputs.size());
  for (const ValueId value : node.inputs) in.push_back(run.Get(value));
  std::vector<Tensor> out = ops.Get(node).eval(node, in);
  Check(out.size() >= node.outputs.size(), "a kernel gives every output");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue) run.Put(node.outputs[i], std::move(out[i]));
  }
  for (const ValueId value : node.inputs) run.Release(value);
}

}  // namespace

std::vector<Tensor> Interpret(const Graph& graph, std::span<const Tensor> inputs,
                              const std::function<void(ValueId, const Tensor&)>& tap,
                              const OpRegistry& ops) {
  if (inputs.size() != graph.inputs().size()) {
    throw UserError("graph '" + graph.name() + "' takes " + std::to_string(graph.inputs().size()) +
                    " inputs, not " + std::to_string(inputs.size()));
  }
  Run run(graph, tap);
  ShapeBindings bound;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CheckInput(graph.value(graph.inputs()[i]), inputs[i], bound);
    run.Put(graph.inputs()[i], inputs[i]);
  }
  for (const NodeId id : graph.order()) RunNode(graph, id, ops, run);
  std::vector<Tensor> outputs;
  outputs.reserve(graph.outputs().size());
  for (const ValueId id : graph.outputs()) outputs.push_back(*run.Get(id));
  return outputs;
}

}  // namespace msc
