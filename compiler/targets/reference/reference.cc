#include "compiler/targets/reference/reference.h"

#include <cstring>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

// What one step needs: the node, its kernel and the locations of its values.
// Its operands are its inputs, then the values that its nested graphs read.
struct NodeCall {
  Node node;
  const OpDef* op = nullptr;
  std::vector<std::string> captured;   // names in nested graphs of the operands behind the inputs
  std::vector<TensorPtr> constants;    // keeps the weights alive; nullptr for other operands
  std::vector<ValueType> input_types;  // of the operands that are read
  std::vector<std::pair<std::size_t, BufferId>> reads;   // operand and source
  std::vector<std::pair<std::size_t, BufferId>> writes;  // output position and destination
  std::vector<Tensor> expected;                          // types and dims of the outputs
};

Tensor NewTensor(const ValueType& type) {
  return {type.dtype, *StaticDims(*type.shape)};
}

// The arguments of a kernel: the constants, and a tensor for every other input.
struct NodeInputs {
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> arguments;

  explicit NodeInputs(const NodeCall& call) : tensors(call.constants.size()) {
    for (const TensorPtr& constant : call.constants) arguments.push_back(constant.get());
    for (const auto& [i, buffer] : call.reads) {
      tensors[i] = NewTensor(call.input_types[i]);
      arguments[i] = &tensors[i];
    }
  }
};

// Computes an operator with nested graphs.
std::vector<Tensor> EvaluateNested(const NodeCall& call, std::span<const Tensor* const> operands) {
  std::vector<RunValue> values;
  for (const Tensor* operand : operands) {
    // The caller keeps the tensors.
    values.push_back(operand == nullptr
                         ? RunValue{}
                         : RunValueOf(TensorPtr(std::shared_ptr<const void>(), operand)));
  }
  const std::size_t count = call.node.inputs.size();
  std::vector<const RunValue*> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back(operands[i] == nullptr ? nullptr : &values[i]);
  }
  CapturedValues captured;
  for (std::size_t i = 0; i < call.captured.size(); ++i) {
    captured.emplace(call.captured[i], values[count + i]);
  }
  std::vector<Tensor> outputs;
  for (const RunValue& made : call.op->eval_values(call.node, inputs, captured)) {
    const Tensor* tensor = TensorIn(made);
    if (tensor == nullptr) RejectNode(call.node, "makes " + ToString(TypeOf(made)));
    outputs.push_back(*tensor);
  }
  return outputs;
}

std::vector<Tensor> Evaluate(const NodeCall& call, std::span<const Tensor* const> operands) {
  return call.op->computes_tensors ? call.op->eval(call.node, operands)
                                   : EvaluateNested(call, operands);
}

void RunNode(const NodeCall& call, NodeInputs& inputs, const StepContext& context) {
  for (const auto& [i, buffer] : call.reads) {
    const std::span<std::byte> to = inputs.tensors[i].MutableRaw();
    if (!to.empty()) std::memcpy(to.data(), context.At(buffer), to.size());
  }
  const std::vector<Tensor> outputs = Evaluate(call, inputs.arguments);
  for (const auto& [i, buffer] : call.writes) {
    Check(i < outputs.size() && outputs[i].dtype() == call.expected[i].dtype(),
          "a reference kernel gives the types that inference promised");
    if (outputs[i].dims() != call.expected[i].dims()) {
      // The values of inputs may decide a shape; the model was compiled for the declared one.
      RejectNode(call.node, "makes output " + std::to_string(i) + " of shape " +
                                ToString(outputs[i].dims()) +
                                " of these inputs, but the model was compiled for " +
                                ToString(call.expected[i].dims()));
    }
    const std::span<const std::byte> from = outputs[i].Raw();
    if (!from.empty()) std::memcpy(context.At(buffer), from.data(), from.size());
  }
}

// Returns the precision for the type of the first input; sums inside the kernel are wider.
std::string PrecisionOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNoValue) return "";
  const DType dtype = graph.type(node.inputs[0]).dtype;
  if (dtype == DType::kI8 || dtype == DType::kU8) return "int8";
  return std::string(Name(dtype));
}

bool HasStaticTensorType(const ValueType& type) {
  return type.container == Container::kTensor && type.shape && StaticDims(*type.shape) &&
         type.dtype != DType::kUndefined;
}

Step NewStep(const Graph& graph, NodeId id, ExecutableBuilder& builder) {
  auto call = std::make_shared<NodeCall>();
  call->node = graph.node(id);
  call->op = &Ops().Get(call->node);
  const Node& node = call->node;
  Step step{.name = node.name,
            .target = "reference",
            .nodes = {node.name},
            .precision = PrecisionOf(graph, node)};
  std::vector<ValueId> operands = node.inputs;
  for (const ValueId value : node.captures) {
    operands.push_back(value);
    call->captured.push_back(graph.value(value).name);
  }
  call->input_types.resize(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ValueId value = operands[i];
    call->constants.push_back(graph.constant(value));
    if (value == kNoValue) continue;
    if (call->constants.back()) {
      // BufferOf counts the constant as memory of the executable; the kernel reads it in place.
      if (call->constants.back()->dtype() != DType::kString) (void)builder.BufferOf(value);
      continue;
    }
    call->input_types[i] = graph.type(value);
    call->reads.emplace_back(i, builder.BufferOf(value));
    step.reads.push_back(call->reads.back().second);
  }
  call->expected.resize(node.outputs.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    call->expected[i] = NewTensor(graph.type(node.outputs[i]));
    call->writes.emplace_back(i, builder.BufferOf(node.outputs[i]));
    step.writes.push_back(call->writes.back().second);
  }
  step.make_run = [call = std::shared_ptr<const NodeCall>(std::move(call))]() -> Step::Run {
    auto inputs = std::make_shared<NodeInputs>(*call);
    return [call, inputs](const StepContext& context) { RunNode(*call, *inputs, context); };
  };
  return step;
}

class ReferenceTarget final : public Target {
 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId node) const override;
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& options,
                                                        ExecutableBuilder& builder) const override;
  [[nodiscard]] bool DoRunsNodeByNode() const override { return true; }

  TargetFacts facts_{.name = "reference", .device = "cpu", .version = "1"};
};

bool ReferenceTarget::DoSupports(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  const OpDef* op = Ops().Find(node.domain, node.op);
  if (op == nullptr) return false;
  for (const auto* list : {&node.inputs, &node.captures}) {
    for (const ValueId input : *list) {
      if (input == kNoValue || graph.constant(input)) continue;
      const ValueType& type = graph.type(input);
      if (!HasStaticTensorType(type) || type.dtype == DType::kString) return false;
    }
  }
  for (const ValueId output : node.outputs) {
    if (output == kNoValue) continue;
    const ValueType& type = graph.type(output);
    if (!HasStaticTensorType(type) || type.dtype == DType::kString) return false;
  }
  return true;
}

std::optional<Failure> ReferenceTarget::DoGraphToRuntime(const Region& region,
                                                         const TargetOptions& /*options*/,
                                                         ExecutableBuilder& builder) const {
  for (const NodeId id : region.nodes) builder.AddStep(NewStep(*region.graph, id, builder));
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Target> MakeReferenceTarget() {
  return std::make_unique<ReferenceTarget>();
}

}  // namespace msc
