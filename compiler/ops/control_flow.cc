#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators with nested graphs. Source: ONNX operator pages If-16, Loop-16, Scan-16,
// SequenceMap-17.

namespace msc {
namespace {

using Values = std::vector<RunValue>;
using ValueInputs = std::span<const RunValue* const>;

/// A loop whose condition never turns false ends here, with an error.
constexpr std::int64_t kMostIterations = 100'000'000;

const Graph& NestedGraph(const Node& node, std::string_view name) {
  const auto it = node.attrs.find(name);
  const auto* graph = it == node.attrs.end() ? nullptr : std::get_if<GraphPtr>(&it->second);
  if (graph == nullptr || *graph == nullptr) {
    RejectNode(node, "needs the graph '" + std::string(name) + "'");
  }
  return **graph;
}

/// Checks that a nested graph takes `inputs` values and gives at least `outputs`: the last outputs
/// of a node may be unused.
void CheckCounts(const Node& node, const Graph& graph, std::size_t inputs, std::size_t outputs) {
  if (graph.inputs().size() != inputs) {
    RejectNode(node, "its graph takes " + std::to_string(graph.inputs().size()) + " inputs, not " +
                         std::to_string(inputs));
  }
  if (graph.outputs().size() < outputs) {
    RejectNode(node, "its graph gives " + std::to_string(graph.outputs().size()) +
                         " outputs and not " + std::to_string(outputs));
  }
}

/// Returns an input of one element.
const Tensor& OneElement(const Node& node, const RunValue& value, DType dtype, const char* what) {
  const Tensor* tensor = TensorIn(value);
  if (tensor == nullptr || tensor->dtype() != dtype || tensor->size() != 1) {
    RejectNode(node, std::string(what) + " must be one " + std::string(Name(dtype)) + ", not " +
                         ToString(TypeOf(value)));
  }
  return *tensor;
}

bool IsTrue(const Node& node, const RunValue& value) {
  return OneElement(node, value, DType::kBool, "the condition").Values<std::uint8_t>()[0] != 0;
}

/// Returns a type that both have.
ValueType Common(const ValueType& a, const ValueType& b) {
  ValueType common = a;
  if (a.dtype != b.dtype) common.dtype = DType::kUndefined;
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) {
    common.shape.reset();
    return common;
  }
  for (std::size_t i = 0; i < a.shape->size(); ++i) {
    if (!((*a.shape)[i] == (*b.shape)[i])) (*common.shape)[i] = Dim();
  }
  return common;
}

/// Returns `shape` with another axis, of size `dim`, in front of axis `at`.
Shape Inserted(const Shape& shape, std::size_t at, const Dim& dim) {
  const auto middle = shape.begin() + static_cast<std::ptrdiff_t>(at);
  Shape all(shape.begin(), middle);
  all.push_back(dim);
  all.insert(all.end(), middle, shape.end());
  return all;
}

// If (condition) -> what the branch gives

std::vector<ValueType> InferIf(const InferInput& in) {
  const Graph& yes = NestedGraph(*in.node, "then_branch");
  const Graph& no = NestedGraph(*in.node, "else_branch");
  const std::size_t outputs = in.node->outputs.size();
  CheckCounts(*in.node, yes, 0, outputs);
  CheckCounts(*in.node, no, 0, outputs);
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < outputs; ++i) {
    types.push_back(Common(yes.type(yes.outputs()[i]), no.type(no.outputs()[i])));
  }
  return types;
}

Values EvalIf(const Node& node, ValueInputs inputs, const CapturedValues& captured) {
  const char* branch = IsTrue(node, *inputs[0]) ? "then_branch" : "else_branch";
  return InterpretValues(NestedGraph(node, branch), {}, captured);
}

// msc.Refuse (condition) -> values that never are; its types are those that are declared. The node
// stands for a branch that cannot run; the condition keeps it from being folded.

std::vector<ValueType> InferRefuse(const InferInput& in) {
  return std::vector<ValueType>(in.node->outputs.size());
}

std::vector<Tensor> EvalRefuse(const Node& node, EvalInputs /*inputs*/) {
  RejectNode(node, AttrOr(node, "message", std::string()));
}

// What iterations add to outputs along a new axis.

/// Collects one tensor an iteration.
class Stack {
 public:
  void Add(const Node& node, const RunValue& value) {
    if (value.container != Container::kTensor) RejectNode(node, "collects tensors only");
    const TensorPtr& tensor = value.tensors.front();
    if (!parts_.empty() &&
        (parts_.front()->dtype() != tensor->dtype() || parts_.front()->dims() != tensor->dims())) {
      RejectNode(node, "an iteration gives " + ToString(TypeOf(value)) + ", the first gave " +
                           ToString(TypeOf(RunValueOf(parts_.front()))));
    }
    parts_.push_back(tensor);
  }

  /// Returns the parts along a new axis `axis`, in reverse order if `reversed`. Without any the
  /// element has the type `otherwise`, open sizes of which are 0.
  [[nodiscard]] RunValue Stacked(const Node& node, std::int64_t axis, bool reversed,
                                 const ValueType& otherwise) const {
    Dims one;
    DType dtype = otherwise.dtype;
    if (!parts_.empty()) {
      one = parts_.front()->dims();
      dtype = parts_.front()->dtype();
    } else if (otherwise.shape) {
      for (const Dim& dim : *otherwise.shape) one.push_back(dim.known() ? dim.size() : 0);
    }
    if (dtype == DType::kUndefined) RejectNode(node, "the type of its outputs is not known");
    const std::size_t at = NormalAxis(node, axis, one.size() + 1);
    Dims dims = one;
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), std::ssize(parts_));
    Tensor all(dtype, dims);
    const std::span<const std::int64_t> sizes(one);
    const std::int64_t outer = ElementCount(sizes.first(at));
    const std::int64_t inner = ElementCount(sizes.subspan(at));
    const std::int64_t count = std::ssize(parts_);
    for (std::int64_t i = 0; i < count; ++i) {
      const Tensor& part = *parts_[static_cast<std::size_t>(reversed ? count - 1 - i : i)];
      for (std::int64_t o = 0; o < outer; ++o) {
        CopyElements(
            part, all,
            {.from_offset = o * inner, .to_offset = (o * count + i) * inner, .count = inner});
      }
    }
    return RunValueOf(std::move(all));
  }

 private:
  std::vector<TensorPtr> parts_;
};

// Loop (most iterations, condition, carried values) -> carried values, collected values
// Its graph: (iteration, condition, carried values) -> condition, carried values, collected values

std::size_t CarriedOf(const Node& node) {
  return node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
}

std::vector<ValueType> InferLoop(const InferInput& in) {
  const Node& node = *in.node;
  const Graph& body = NestedGraph(node, "body");
  const std::size_t carried = CarriedOf(node);
  CheckCounts(node, body, carried + 2, std::max(node.outputs.size(), carried) + 1);
  std::vector<ValueType> types;
  for (std::size_t i = 0; i + 1 < body.outputs().size(); ++i) {
    ValueType type = body.type(body.outputs()[i + 1]);
    if (i < carried) {
      type = Common(type, in.types[i + 2]);
    } else if (type.shape) {
      type.shape = Inserted(*type.shape, 0, Dim());
    }
    types.push_back(std::move(type));
  }
  return types;
}

RunValue Scalar(std::int64_t value) {
  return RunValueOf(Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&value, 1)));
}

RunValue Truth(bool value) {
  const std::uint8_t byte = value ? 1 : 0;
  return RunValueOf(Tensor::From<std::uint8_t>(DType::kBool, {}, std::span(&byte, 1)));
}

Values EvalLoop(const Node& node, ValueInputs inputs, const CapturedValues& captured) {
  const Graph& body = NestedGraph(node, "body");
  const std::size_t carried = CarriedOf(node);
  CheckCounts(node, body, carried + 2, std::max(node.outputs.size(), carried) + 1);
  std::int64_t most = kMostIterations;
  const bool counted = !inputs.empty() && inputs[0] != nullptr;
  if (counted) {
    most = OneElement(node, *inputs[0], DType::kI64, "the number of iterations")
               .Values<std::int64_t>()[0];
  }
  bool going = inputs.size() < 2 || inputs[1] == nullptr || IsTrue(node, *inputs[1]);
  Values state = {Scalar(0), Truth(going)};
  for (std::size_t i = 0; i < carried; ++i) state.push_back(*inputs[i + 2]);
  std::vector<Stack> stacks(body.outputs().size() - 1 - carried);
  for (std::int64_t i = 0; going && i < most; ++i) {
    state[0] = Scalar(i);
    Values made = InterpretValues(body, state, captured);
    going = IsTrue(node, made[0]);
    for (std::size_t k = 0; k < stacks.size(); ++k) stacks[k].Add(node, made[carried + 1 + k]);
    for (std::size_t k = 0; k <= carried; ++k) state[k + 1] = std::move(made[k]);
    if (!counted && going && i + 1 == most) {
      RejectNode(node, "has not ended after " + std::to_string(most) + " iterations");
    }
  }
  Values outputs(state.begin() + 2, state.end());
  for (std::size_t k = 0; k < stacks.size(); ++k) {
    const ValueId made = body.outputs()[carried + 1 + k];
    outputs.push_back(stacks[k].Stacked(node, 0, false, body.type(made)));
  }
  return outputs;
}

// Scan (states, scanned values) -> states, collected values
// Its graph: (states, slices of the scanned values) -> states, collected values

/// The parts of a Scan.
struct ScanForm {
  std::size_t states = 0;
  std::size_t scanned = 0;
  std::size_t collected = 0;
  // One for each scanned or collected value.
  std::vector<std::int64_t> in_axes = {}, in_reversed = {}, out_axes = {}, out_reversed = {};
};

std::vector<std::int64_t> ListOf(const Node& node, const char* name, std::size_t count) {
  std::vector<std::int64_t> list = AttrOr(node, name, std::vector<std::int64_t>(count, 0));
  if (list.size() != count) {
    RejectNode(node, std::string("'") + name + "' needs " + std::to_string(count) + " entries");
  }
  return list;
}

ScanForm FormOf(const Node& node, const Graph& body) {
  const std::int64_t scanned = AttrOr(node, "num_scan_inputs", std::int64_t{0});
  if (scanned < 1 || scanned > std::ssize(node.inputs)) {
    RejectNode(node, "cannot scan " + std::to_string(scanned) + " of its " +
                         std::to_string(node.inputs.size()) + " inputs");
  }
  ScanForm form{.scanned = static_cast<std::size_t>(scanned)};
  form.states = node.inputs.size() - form.scanned;
  CheckCounts(node, body, node.inputs.size(), std::max(node.outputs.size(), form.states));
  form.collected = body.outputs().size() - form.states;
  form.in_axes = ListOf(node, "scan_input_axes", form.scanned);
  form.in_reversed = ListOf(node, "scan_input_directions", form.scanned);
  form.out_axes = ListOf(node, "scan_output_axes", form.collected);
  form.out_reversed = ListOf(node, "scan_output_directions", form.collected);
  return form;
}

std::vector<ValueType> InferScan(const InferInput& in) {
  const Node& node = *in.node;
  const Graph& body = NestedGraph(node, "body");
  const ScanForm form = FormOf(node, body);
  Dim length;
  for (std::size_t i = 0; i < form.scanned; ++i) {
    const Shape* shape = ShapeOf(in, form.states + i);
    if (shape == nullptr) continue;
    length = MergeDims(node, length, (*shape)[NormalAxis(node, form.in_axes[i], shape->size())]);
  }
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < body.outputs().size(); ++i) {
    ValueType type = body.type(body.outputs()[i]);
    if (i < form.states) {
      type = Common(type, in.types[i]);
    } else if (type.shape) {
      const std::size_t at =
          NormalAxis(node, form.out_axes[i - form.states], type.shape->size() + 1);
      type.shape = Inserted(*type.shape, at, length);
    }
    types.push_back(std::move(type));
  }
  return types;
}

/// Returns entry `index` along `axis`, without this axis.
Tensor SliceAt(const Tensor& x, std::size_t axis, std::int64_t index) {
  Dims dims = x.dims();
  const std::int64_t count = dims[axis];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  const std::span<const std::int64_t> sizes(dims);
  const std::int64_t outer = ElementCount(sizes.first(axis));
  const std::int64_t inner = ElementCount(sizes.subspan(axis));
  Tensor slice(x.dtype(), dims);
  for (std::int64_t o = 0; o < outer; ++o) {
    CopyElements(
        x, slice,
        {.from_offset = (o * count + index) * inner, .to_offset = o * inner, .count = inner});
  }
  return slice;
}

/// A tensor that Scan goes through.
struct Scanned {
  const Tensor* tensor = nullptr;
  std::size_t axis = 0;
  bool reversed = false;

  [[nodiscard]] std::int64_t length() const { return tensor->dims()[axis]; }
  [[nodiscard]] RunValue At(std::int64_t i) const {
    return RunValueOf(SliceAt(*tensor, axis, reversed ? length() - 1 - i : i));
  }
};

std::vector<Scanned> ScannedOf(const Node& node, const ScanForm& form, ValueInputs inputs) {
  std::vector<Scanned> scanned;
  for (std::size_t i = 0; i < form.scanned; ++i) {
    const Tensor* x = TensorIn(*inputs[form.states + i]);
    if (x == nullptr) RejectNode(node, "scans tensors only");
    scanned.push_back({.tensor = x,
                       .axis = NormalAxis(node, form.in_axes[i], x->dims().size()),
                       .reversed = form.in_reversed[i] != 0});
    if (scanned.back().length() != scanned.front().length()) {
      RejectNode(node, "scans tensors of " + std::to_string(scanned.front().length()) + " and " +
                           std::to_string(scanned.back().length()) + " entries");
    }
  }
  return scanned;
}

Values EvalScan(const Node& node, ValueInputs inputs, const CapturedValues& captured) {
  const Graph& body = NestedGraph(node, "body");
  const ScanForm form = FormOf(node, body);
  const std::vector<Scanned> scanned = ScannedOf(node, form, inputs);
  Values state;
  for (std::size_t i = 0; i < form.states; ++i) state.push_back(*inputs[i]);
  std::vector<Stack> stacks(form.collected);
  for (std::int64_t i = 0; i < scanned.front().length(); ++i) {
    Values given = state;
    for (const Scanned& one : scanned) given.push_back(one.At(i));
    Values made = InterpretValues(body, given, captured);
    for (std::size_t k = 0; k < stacks.size(); ++k) stacks[k].Add(node, made[form.states + k]);
    made.resize(form.states);
    state = std::move(made);
  }
  for (std::size_t k = 0; k < stacks.size(); ++k) {
    const ValueType& type = body.type(body.outputs()[form.states + k]);
    state.push_back(stacks[k].Stacked(node, form.out_axes[k], form.out_reversed[k] != 0, type));
  }
  return state;
}

// SequenceMap (sequence, sequences and tensors) -> sequences
// Its graph: (element of each sequence, the tensors) -> an element of each output

std::vector<ValueType> InferSequenceMap(const InferInput& in) {
  const Graph& body = NestedGraph(*in.node, "body");
  CheckCounts(*in.node, body, in.node->inputs.size(), in.node->outputs.size());
  std::vector<ValueType> types;
  for (const ValueId output : body.outputs()) {
    types.push_back({.dtype = body.type(output).dtype, .container = Container::kSequence});
  }
  return types;
}

Values EvalSequenceMap(const Node& node, ValueInputs inputs, const CapturedValues& captured) {
  const Graph& body = NestedGraph(node, "body");
  CheckCounts(node, body, inputs.size(), node.outputs.size());
  if (inputs[0]->container != Container::kSequence) RejectNode(node, "maps a sequence");
  const std::size_t count = inputs[0]->tensors.size();
  Values outputs;
  for (const ValueId output : body.outputs()) {
    outputs.push_back(SequenceOf(body.type(output).dtype, {}));
  }
  for (std::size_t i = 0; i < count; ++i) {
    Values given;
    for (const RunValue* input : inputs) {
      if (input->container != Container::kSequence) {
        given.push_back(*input);
        continue;
      }
      if (i >= input->tensors.size()) RejectNode(node, "its sequences have different lengths");
      given.push_back(RunValueOf(input->tensors[i]));
    }
    Values made = InterpretValues(body, given, captured);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (TensorIn(made[k]) == nullptr) RejectNode(node, "its graph must give tensors");
      outputs[k].dtype = made[k].dtype;
      outputs[k].tensors.push_back(made[k].tensors.front());
    }
  }
  return outputs;
}

AttrSpec GraphAttr(const char* name) {
  return {.name = name, .otherwise = GraphPtr(), .required = true};
}

}  // namespace

void RegisterControlFlowOps(OpRegistry& ops) {
  ops.Add({.name = "Refuse",
           .domain = "msc",
           .inputs = {1, 1},
           .max_outputs = OpDef::kVariadic,
           .attrs = {{.name = "message", .otherwise = std::string(), .required = true}},
           .infer = InferRefuse,
           .eval = EvalRefuse});
  ops.Add({.name = "If",
           .inputs = {1, 1},
           .max_outputs = OpDef::kVariadic,
           .attrs = {GraphAttr("then_branch"), GraphAttr("else_branch")},
           .infer = InferIf,
           .eval_values = EvalIf});
  ops.Add({.name = "Loop",
           .inputs = {0, OpDef::kVariadic - 1},  // the first two may be absent
           .max_outputs = OpDef::kVariadic,
           .attrs = {GraphAttr("body")},
           .infer = InferLoop,
           .eval_values = EvalLoop});
  const std::vector<std::int64_t> none;
  ops.Add({.name = "Scan",
           .inputs = {1, OpDef::kVariadic},
           .max_outputs = OpDef::kVariadic,
           .attrs = {GraphAttr("body"),
                     {.name = "num_scan_inputs", .otherwise = std::int64_t{0}, .required = true},
                     {.name = "scan_input_axes", .otherwise = none},
                     {.name = "scan_input_directions", .otherwise = none},
                     {.name = "scan_output_axes", .otherwise = none},
                     {.name = "scan_output_directions", .otherwise = none}},
           .infer = InferScan,
           .eval_values = EvalScan});
  ops.Add({.name = "SequenceMap",
           .inputs = {1, OpDef::kVariadic},
           .max_outputs = OpDef::kVariadic,
           .attrs = {GraphAttr("body")},
           .infer = InferSequenceMap,
           .eval_values = EvalSequenceMap});
}

}  // namespace msc
