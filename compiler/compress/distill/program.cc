#include "compiler/compress/distill/program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/base/error.h"
#include "compiler/compress/distill/program_ops.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/narrowing.h"

namespace msc {
namespace {

/// Adds a constant and returns its index.
std::size_t AddConstant(const Tensor& tensor, TrainProgram& program) {
  const auto values = tensor.Values<float>();
  program.constants.push_back({program.slots++, tensor.dims(), {values.begin(), values.end()}});
  return program.constants.size() - 1;
}

/// Adds an operator with one output and returns the output's slot.
int AddOp(TrainOp op, TrainProgram& program) {
  op.out = {program.slots++};
  program.ops.push_back(std::move(op));
  return program.ops.back().out[0];
}

TrainParameter* ParameterOf(std::size_t constant, TrainProgram& program) {
  for (TrainParameter& parameter : program.parameters) {
    if (parameter.constant == constant) return &parameter;
  }
  return nullptr;
}

void TrainWeight(std::size_t constant, const std::string& node, std::size_t input,
                 TrainProgram& program) {
  const std::pair<std::string, std::int64_t> name{node, static_cast<std::int64_t>(input)};
  if (TrainParameter* const known = ParameterOf(constant, program)) {
    known->names.push_back(name);
  } else {
    program.parameters.push_back({ParameterKind::kWeight, constant, {name}});
  }
}

/// The values of a graph that a program has so far.
struct Values {
  std::map<ValueId, int> slots;
  std::map<ValueId, std::size_t> constants;  ///< indices into TrainProgram::constants
};

void Enter(const Graph& graph, ValueId value, int slot, Values& values, TrainProgram& program) {
  values.slots[value] = slot;
  program.named.emplace_back(graph.value(value).name, slot);
}

/// Returns the slot of a value; -1 if it is not f32: such inputs are read from the graph.
int SlotFor(const Graph& graph, ValueId value, Values& values, TrainProgram& program) {
  const auto known = values.slots.find(value);
  if (known != values.slots.end()) return known->second;
  const TensorPtr tensor = value == kNoValue ? nullptr : graph.constant(value);
  if (!tensor || tensor->dtype() != DType::kF32) return -1;
  const std::size_t constant = AddConstant(*tensor, program);
  values.constants[value] = constant;
  return values.slots[value] = program.constants[constant].slot;
}

/// Trains a constant input, except a single number that Add adds: that is part of a formula, not a
/// bias.
void TrainInput(const Node& node, std::size_t input, const Values& values, TrainProgram& program) {
  const auto constant = values.constants.find(node.inputs[input]);
  if (constant == values.constants.end()) return;
  if (node.op == "Add" && program.constants[constant->second].values.size() < 2) return;
  TrainWeight(constant->second, node.name, input, program);
}

/// Returns whether a node makes f32 values. Shape arithmetic is left out: inferred types have its
/// results.
bool MakesFloats(const Graph& graph, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
    return out != kNoValue && graph.type(out).dtype == DType::kF32;
  });
}

void Translate(const Graph& graph, const Node& node, Values& values, TrainProgram& program) {
  const detail::TrainRow* const row = detail::FindTrainRow(node);
  if (row == nullptr) RejectNode(node, "this operator cannot be trained through");
  TrainOp op;
  op.op = node.op;
  op.node = node.name;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    op.in.push_back(SlotFor(graph, node.inputs[i], values, program));
    if ((row->trained >> i & 1U) != 0) TrainInput(node, i, values, program);
  }
  row->read({graph, node, op});
  for (std::size_t i = 0; i < op.in.size(); ++i) {
    if (op.in[i] < 0 && node.inputs[i] != kNoValue) {
      RejectNode(
          node, "its input '" + graph.value(node.inputs[i]).name + "' does not hold 32-bit floats");
    }
  }
  for (const ValueId out : node.outputs) {
    if (out == kNoValue || graph.type(out).dtype != DType::kF32) continue;
    op.out.push_back(program.slots++);
    Enter(graph, out, op.out.back(), values, program);
  }
  if (op.out.size() > 1 && op.op != "Split") {
    RejectNode(node, "only its first output can be trained through");
  }
  program.ops.push_back(std::move(op));
}

/// The reader of widened weights. If a channel has several scales, there are nodes in between that
/// turn rows with one scale each back into the weights.
struct Reader {
  Use use;
  std::vector<NodeId> moves;  ///< Reshape and Transpose nodes in between, in order
};

std::optional<Reader> ReaderOf(const Graph& graph, ValueId wide) {
  Reader reader;
  for (ValueId value = wide;;) {
    const std::vector<Use>& uses = graph.uses(value);
    if (uses.size() != 1) return std::nullopt;
    reader.use = uses[0];
    const Node& node = graph.node(reader.use.node);
    if (!node.Is("Reshape") && !node.Is("Transpose")) return reader;
    reader.moves.push_back(reader.use.node);
    value = node.outputs[0];
  }
}

/// Undoes `moves` on the weights in `slot`. Returns the slot of the result.
int MovedBack(const Graph& graph, const std::vector<NodeId>& moves, int slot,
              TrainProgram& program) {
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    const Node& node = graph.node(*move);
    TrainOp op{.op = node.op, .node = node.name, .in = {slot}, .out = {}, .ints = {}, .reals = {}};
    if (node.Is("Transpose")) {
      const auto perm = std::get<std::vector<std::int64_t>>(node.attrs.at("perm"));
      op.ints.resize(perm.size());
      for (std::size_t i = 0; i < perm.size(); ++i) {
        op.ints[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
      }
    } else {
      op.ints = StaticDims(*graph.type(node.inputs[0]).shape).value();
    }
    slot = AddOp(std::move(op), program);
  }
  return slot;
}

/// Translates the widening nodes of a graph, each with the narrowing node in front of it.
class Widener {
 public:
  Widener(const Graph& graph, const QuantizedFrom* from, Values& values, TrainProgram& program)
      : graph_(graph), from_(from), values_(values), program_(program) {}

  /// Returns the slot of the widened value.
  int Widen(NodeId id, const Narrowing& form) {
    return graph_.constant(graph_.node(id).inputs[0]) != nullptr ? WidenConstant(id, form)
                                                                 : WidenValue(id, form);
  }

 private:
  int WidenValue(NodeId id, const Narrowing& form) {
    const Node& node = graph_.node(id);
    const ValueId narrow = node.inputs[0];
    const auto known = wide_.find(narrow);
    if (known != wide_.end()) return known->second;
    const NodeId producer = graph_.producer(narrow);
    const auto stored = producer == kNoNode ? std::nullopt : ReadNarrowing(graph_, producer);
    if (!stored || !(*stored == form)) {
      RejectNode(node,
                 "reads '" + graph_.value(narrow).name + "', which is not made by its counterpart");
    }
    const ValueId source = graph_.node(producer).inputs[0];
    const int slot = SlotFor(graph_, source, values_, program_);
    if (form.IsBF16()) return wide_[narrow] = AddRounding("RoundBf16", node, {slot}, {});
    if (!form.IsPerTensorInt8()) RejectNode(node, "is trained with one scale alone");
    const bool is_signed = form.dtype == DType::kI8;
    const int step = ActivationStep(graph_.value(source).name, form.scales.at(0));
    return wide_[narrow] =
               AddRounding("Quantize", node, {slot, step},
                           {form.zero_points.at(0), is_signed ? -128 : 0, is_signed ? 127 : 255});
  }

  /// Adds a fake quantizer, whose second input, of two, is its step. Returns the slot of its
  /// output.
  int AddRounding(const char* op, const Node& node, std::vector<int> in,
                  std::vector<std::int64_t> ints) {
    const int step = in.size() == 2 ? in[1] : -1;
    const int slot = AddOp({op, node.name, std::move(in), {}, std::move(ints), {}}, program_);
    if (step >= 0) step_of_[slot] = step;
    return slot;
  }

  /// Returns the slot of the step of an activation. Tensors that share a range, such as those on
  /// both sides of MaxPool, have the same scale, and keep sharing one step.
  int ActivationStep(const std::string& tensor, float scale) {
    const auto [it, added] = steps_.emplace(scale, program_.constants.size());
    if (added) {
      AddConstant(Tensor::From<float>(DType::kF32, {}, {&scale, 1}), program_);
      if (from_ != nullptr) {
        program_.parameters.push_back({ParameterKind::kActivationStep, it->second, {{tensor, 0}}});
      }
    } else if (TrainParameter* const parameter = ParameterOf(it->second, program_)) {
      parameter->names.emplace_back(tensor, 0);
    }
    return program_.constants[it->second].slot;
  }

  /// Returns the constant that the reader reads in the plain graph; kNoValue if it does not read a
  /// constant.
  [[nodiscard]] ValueId MasterOf(const Reader& reader) const {
    const NodeId plain = from_->plain->FindNode(graph_.node(reader.use.node).name);
    if (plain == kNoNode) return kNoValue;
    const ValueId master = from_->plain->node(plain).inputs.at(reader.use.index);
    return from_->plain->constant(master) ? master : kNoValue;
  }

  /// Translates constant weights behind a widening node: reads them from the plain graph and rounds
  /// them.
  int WidenConstant(NodeId id, const Narrowing& form) {
    const Node& node = graph_.node(id);
    const ValueId wide = node.outputs[0];
    const auto weights = ReadWeights(graph_, wide);
    if (!weights) RejectNode(node, "widens what is no constant");
    const auto reader = from_ == nullptr ? std::nullopt : ReaderOf(graph_, wide);
    const ValueId master = reader ? MasterOf(*reader) : kNoValue;
    if (master == kNoValue) {
      return program_.constants[AddConstant(*WidenedWeights(graph_, *weights), program_)].slot;
    }
    const Node& layer = graph_.node(reader->use.node);
    const TensorPtr tensor = from_->plain->constant(master);
    const auto [constant, added] = masters_.emplace(master, program_.constants.size());
    if (added) AddConstant(*tensor, program_);
    TrainWeight(constant->second, layer.name, reader->use.index, program_);
    const int slot =
        MovedBack(graph_, reader->moves, program_.constants[constant->second].slot, program_);
    if (reader->use.index != 1) {
      // A bias has 32 bits, but its step is coarse if the weights have few bits.
      const auto step = [&](std::size_t input) {
        return step_of_.at(values_.slots.at(layer.inputs[input]));
      };
      return AddRounding("QuantizeBias", node, {slot, step(0), step(1)}, {});
    }
    if (form.IsBF16()) return AddRounding("RoundBf16", node, {slot}, {});
    return QuantizeWeights(node, form, layer.name, tensor->size(), slot);
  }

  int QuantizeWeights(const Node& node, const Narrowing& form, const std::string& layer,
                      std::int64_t size, int slot) {
    const bool symmetric = std::all_of(form.zero_points.begin(), form.zero_points.end(),
                                       [](std::int64_t zero) { return zero == 0; });
    if (!symmetric) RejectNode(node, "has zero points, with which none is trained");
    const auto grid = from_->plan->weights.find(layer);
    const std::int64_t bits = grid == from_->plan->weights.end() ? 8 : grid->second.bits;
    const std::int64_t most = (std::int64_t{1} << (bits - 1)) - 1;
    const auto steps = std::ssize(form.scales);
    const std::size_t constant =
        AddConstant(Tensor::From<float>(DType::kF32, {steps}, form.scales), program_);
    program_.parameters.push_back({ParameterKind::kWeightStep, constant, {{layer, 0}}});
    return AddRounding("QuantizeWeights", node, {slot, program_.constants[constant].slot},
                       {form.axis, -most, most, size / steps});
  }

  const Graph& graph_;
  const QuantizedFrom* from_;
  Values& values_;
  TrainProgram& program_;
  std::map<ValueId, std::size_t> masters_;  ///< constant, by value of the plain graph
  std::map<ValueId, int> wide_;             ///< slot, by narrow value
  std::map<float, std::size_t> steps_;      ///< constant, by scale of activations
  std::map<int, int> step_of_;              ///< slot of the step, by slot of the quantized value
};

}  // namespace

void CheckSampleAxes(const Graph& graph) {
  const auto check = [&](ValueId id, const char* what) {
    const SampleAxis axis = SampleAxisOf(graph, id);
    if (axis == SampleAxis{}) return;
    throw UserError(std::string(what) + " '" + graph.value(id).name + "' has samples " +
                    ToString(axis) +
                    "; gradients need a model whose inputs and outputs have them along axis 0");
  };
  for (const ValueId id : graph.inputs()) check(id, "input");
  for (const ValueId id : graph.outputs()) check(id, "output");
}

TrainProgram MakeTrainProgram(const Graph& graph, const QuantizedFrom* from) {
  CheckSampleAxes(graph);
  TrainProgram program;
  Values values;
  Widener widener(graph, from, values, program);
  for (const ValueId input : graph.inputs()) {
    program.inputs.push_back(program.slots++);
    Enter(graph, input, program.inputs.back(), values, program);
  }
  for (const NodeId id : graph.order()) {
    if (ReadNarrowing(graph, id)) continue;  // its widening node translates both
    const Node& node = graph.node(id);
    if (const auto wide = ReadWidening(graph, id)) {
      Enter(graph, node.outputs[0], widener.Widen(id, *wide), values, program);
    } else if (MakesFloats(graph, node)) {
      Translate(graph, node, values, program);
    }
  }
  for (const ValueId output : graph.outputs()) {
    const auto slot = values.slots.find(output);
    if (slot == values.slots.end()) {
      throw UserError("output '" + graph.value(output).name +
                      "' does not hold 32-bit floats that the model computes");
    }
    program.outputs.push_back(slot->second);
  }
  return program;
}

int SlotOf(const TrainProgram& program, const std::string& value) {
  for (const auto& [name, slot] : program.named) {
    if (name == value) return slot;
  }
  throw UserError("the model computes no value '" + value + "' in 32-bit floats");
}

}  // namespace msc
