#include "compiler/compress/distill/program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/base/error.h"
#include "compiler/compress/distill/program_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/narrowing.h"

namespace msc {
namespace {

/// Builds a TrainProgram from a graph, node by node.
class ProgramMaker {
 public:
  ProgramMaker(const Graph& graph, const QuantizedFrom* from) : graph_(graph), from_(from) {}

  TrainProgram Make() && {
    for (const ValueId input : graph_.inputs()) program_.inputs.push_back(NewSlot(input));
    for (const NodeId id : graph_.order()) {
      if (ReadNarrowing(graph_, id)) continue;  // its widening node translates both
      const Node& node = graph_.node(id);
      if (const auto wide = ReadWidening(graph_, id)) {
        Widen(id, *wide);
      } else if (MakesFloats(node)) {
        Translate(node);
      }
    }
    for (const ValueId output : graph_.outputs()) {
      const auto slot = slots_.find(output);
      if (slot == slots_.end()) {
        throw UserError("output '" + graph_.value(output).name +
                        "' does not hold 32-bit floats that the model computes");
      }
      program_.outputs.push_back(slot->second);
    }
    return std::move(program_);
  }

 private:
  /// Returns whether a node makes f32 values. Shape arithmetic is left out: inferred types have its
  /// results.
  [[nodiscard]] bool MakesFloats(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
      return out != kNoValue && graph_.type(out).dtype == DType::kF32;
    });
  }

  int NewSlot(ValueId value) {
    const int slot = program_.slots++;
    slots_[value] = slot;
    program_.named.emplace_back(graph_.value(value).name, slot);
    return slot;
  }

  /// Returns the slot of a value; -1 if it is not f32: such inputs are read from the graph.
  int SlotFor(ValueId value) {
    const auto known = slots_.find(value);
    if (known != slots_.end()) return known->second;
    const TensorPtr tensor = value == kNoValue ? nullptr : graph_.constant(value);
    if (!tensor || tensor->dtype() != DType::kF32) return -1;
    const int slot = AddConstant(*tensor);
    slots_[value] = slot;
    constants_[value] = program_.constants.size() - 1;
    return slot;
  }

  int AddConstant(const Tensor& tensor) {
    const auto values = tensor.Values<float>();
    program_.constants.push_back(
        {program_.slots, tensor.dims(), std::vector<float>(values.begin(), values.end())});
    return program_.slots++;
  }

  void Translate(const Node& node) {
    const detail::TrainRow* const row = detail::FindTrainRow(node);
    if (row == nullptr) RejectNode(node, "this operator cannot be trained through");
    TrainOp op;
    op.op = node.op;
    op.node = node.name;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      op.in.push_back(SlotFor(node.inputs[i]));
      if ((row->trained >> i & 1U) != 0) Train(node, i);
    }
    row->read({graph_, node, op});
    for (std::size_t i = 0; i < op.in.size(); ++i) {
      if (op.in[i] < 0 && node.inputs[i] != kNoValue) {
        RejectNode(node, "its input '" + graph_.value(node.inputs[i]).name +
                             "' does not hold 32-bit floats");
      }
    }
    for (const ValueId out : node.outputs) {
      if (out != kNoValue && (graph_.type(out).dtype == DType::kF32))
        op.out.push_back(NewSlot(out));
    }
    if (op.out.size() > 1 && op.op != "Split") {
      RejectNode(node, "only its first output can be trained through");
    }
    program_.ops.push_back(std::move(op));
  }

  /// Trains a constant input, except a single number that Add adds: that is part of a formula, not
  /// a bias.
  void Train(const Node& node, std::size_t input) {
    const auto constant = constants_.find(node.inputs[input]);
    if (constant == constants_.end()) return;
    if (node.op == "Add" && program_.constants[constant->second].values.size() < 2) return;
    TrainWeight(constant->second, node.name, input);
  }

  void TrainWeight(std::size_t constant, const std::string& node, std::size_t input) {
    const std::pair<std::string, std::int64_t> name{node, static_cast<std::int64_t>(input)};
    for (TrainParameter& parameter : program_.parameters) {
      if (parameter.constant != constant) continue;
      parameter.names.push_back(name);
      return;
    }
    program_.parameters.push_back({ParameterKind::kWeight, constant, {name}});
  }

  void Widen(NodeId id, const Narrowing& form) {
    const Node& node = graph_.node(id);
    const ValueId narrow = node.inputs[0];
    const int slot = graph_.constant(narrow) != nullptr ? WidenConstant(id, form)
                                                        : WidenValue(node, narrow, form);
    slots_[node.outputs[0]] = slot;
    program_.named.emplace_back(graph_.value(node.outputs[0]).name, slot);
  }

  int WidenValue(const Node& node, ValueId narrow, const Narrowing& form) {
    const auto known = wide_.find(narrow);
    if (known != wide_.end()) return known->second;
    const NodeId producer = graph_.producer(narrow);
    const auto stored = producer == kNoNode ? std::nullopt : ReadNarrowing(graph_, producer);
    if (!stored || !(*stored == form)) {
      RejectNode(node,
                 "reads '" + graph_.value(narrow).name + "', which is not made by its counterpart");
    }
    const ValueId source = graph_.node(producer).inputs[0];
    TrainOp op;
    op.node = node.name;
    op.in = {SlotFor(source)};
    if (form.IsBF16()) {
      op.op = "RoundBf16";
    } else {
      if (!form.IsPerTensorInt8()) RejectNode(node, "is trained with one scale alone");
      const bool is_signed = form.dtype == DType::kI8;
      op.op = "Quantize";
      op.ints = {form.zero_points.at(0), is_signed ? -128 : 0, is_signed ? 127 : 255};
      op.in.push_back(ActivationStep(graph_.value(source).name, form.scales.at(0)));
    }
    op.out = {program_.slots++};
    wide_[narrow] = op.out[0];
    if (op.in.size() > 1) step_of_[op.out[0]] = op.in[1];
    program_.ops.push_back(std::move(op));
    return program_.ops.back().out[0];
  }

  /// Returns the slot of the step of an activation. Tensors that share a range, such as those on
  /// both sides of MaxPool, have the same scale, and keep sharing one step.
  int ActivationStep(const std::string& tensor, float scale) {
    const auto known = steps_.find(scale);
    if (known != steps_.end()) {
      TrainParameter* const parameter = ParameterOf(known->second);
      if (parameter != nullptr) parameter->names.emplace_back(tensor, 0);
      return program_.constants[known->second].slot;
    }
    Tensor step(DType::kF32, {});
    step.MutableValues<float>()[0] = scale;
    const int slot = AddConstant(step);
    const std::size_t constant = program_.constants.size() - 1;
    steps_[scale] = constant;
    if (from_ != nullptr) {
      program_.parameters.push_back({ParameterKind::kActivationStep, constant, {{tensor, 0}}});
    }
    return slot;
  }

  TrainParameter* ParameterOf(std::size_t constant) {
    for (TrainParameter& parameter : program_.parameters) {
      if (parameter.constant == constant) return &parameter;
    }
    return nullptr;
  }

  /// The reader of widened weights. If a channel has several scales, there are nodes in between
  /// that turn rows with one scale each back into the weights.
  struct Reader {
    Use use;
    std::vector<NodeId> moves;  ///< Reshape and Transpose nodes in between, in order
  };

  [[nodiscard]] std::optional<Reader> ReaderOf(ValueId wide) const {
    Reader reader;
    for (ValueId value = wide;;) {
      const std::vector<Use>& uses = graph_.uses(value);
      if (uses.size() != 1) return std::nullopt;
      reader.use = uses[0];
      const Node& node = graph_.node(reader.use.node);
      if (!node.Is("Reshape") && !node.Is("Transpose")) return reader;
      reader.moves.push_back(reader.use.node);
      value = node.outputs[0];
    }
  }

  /// Returns the constant that the reader reads in the plain graph; kNoValue if it does not read a
  /// constant.
  [[nodiscard]] ValueId MasterOf(const Reader& reader) const {
    const NodeId plain = from_->plain->FindNode(graph_.node(reader.use.node).name);
    if (plain == kNoNode) return kNoValue;
    const ValueId master = from_->plain->node(plain).inputs.at(reader.use.index);
    return from_->plain->constant(master) ? master : kNoValue;
  }

  /// Undoes `moves` on the weights in `slot`. Returns the slot of the result.
  int MovedBack(int slot, const std::vector<NodeId>& moves) {
    for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
      const Node& node = graph_.node(*move);
      TrainOp op;
      op.op = node.op;
      op.node = node.name;
      op.in = {slot};
      if (node.Is("Transpose")) {
        const auto perm = std::get<std::vector<std::int64_t>>(node.attrs.at("perm"));
        op.ints.resize(perm.size());
        for (std::size_t i = 0; i < perm.size(); ++i) {
          op.ints[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
        }
      } else {
        op.ints = StaticDims(*graph_.type(node.inputs[0]).shape).value();
      }
      op.out = {program_.slots++};
      slot = op.out[0];
      program_.ops.push_back(std::move(op));
    }
    return slot;
  }

  /// Translates constant weights behind a widening node: reads them from the plain graph and rounds
  /// them.
  int WidenConstant(NodeId id, const Narrowing& form) {
    const ValueId wide = graph_.node(id).outputs[0];
    const auto weights = ReadWeights(graph_, wide);
    if (!weights) RejectNode(graph_.node(id), "widens what is no constant");
    const auto reader = from_ == nullptr ? std::nullopt : ReaderOf(wide);
    const ValueId master = reader ? MasterOf(*reader) : kNoValue;
    if (master == kNoValue) return AddConstant(*WidenedWeights(graph_, *weights));
    const Use use = reader->use;
    const std::string& layer = graph_.node(use.node).name;
    const TensorPtr tensor = from_->plain->constant(master);
    const auto known = masters_.find(master);
    const std::size_t constant =
        known != masters_.end() ? known->second : program_.constants.size();
    if (known == masters_.end()) {
      (void)AddConstant(*tensor);
      masters_[master] = constant;
    }
    TrainWeight(constant, layer, use.index);
    const int slot = MovedBack(program_.constants[constant].slot, reader->moves);
    TrainOp op;
    op.node = graph_.node(id).name;
    op.in = {slot};
    if (use.index != 1) {
      // A bias has 32 bits, but its step is coarse if the weights have few bits.
      const Node& layer_node = graph_.node(use.node);
      op.op = "QuantizeBias";
      for (const std::size_t input : {0U, 1U}) {
        op.in.push_back(step_of_.at(slots_.at(layer_node.inputs[input])));
      }
      op.out = {program_.slots++};
      program_.ops.push_back(std::move(op));
      return program_.ops.back().out[0];
    }
    if (form.IsBF16()) {
      op.op = "RoundBf16";
    } else {
      const bool symmetric = std::all_of(form.zero_points.begin(), form.zero_points.end(),
                                         [](std::int64_t zero) { return zero == 0; });
      if (!symmetric) RejectNode(graph_.node(id), "has zero points, with which none is trained");
      const auto grid = from_->plan->weights.find(layer);
      const std::int64_t bits = grid == from_->plan->weights.end() ? 8 : grid->second.bits;
      const std::int64_t most = (std::int64_t{1} << (bits - 1)) - 1;
      op.op = "QuantizeWeights";
      const auto steps = std::ssize(form.scales);
      op.ints = {form.axis, -most, most, tensor->size() / steps};
      op.in.push_back(AddConstant(Tensor::From<float>(DType::kF32, {steps}, form.scales)));
      program_.parameters.push_back(
          {ParameterKind::kWeightStep, program_.constants.size() - 1, {{layer, 0}}});
    }
    op.out = {program_.slots++};
    if (op.in.size() > 1) step_of_[op.out[0]] = op.in[1];
    program_.ops.push_back(std::move(op));
    return program_.ops.back().out[0];
  }

  const Graph& graph_;
  const QuantizedFrom* from_;
  TrainProgram program_;
  std::map<ValueId, int> slots_;
  std::map<ValueId, std::size_t> constants_;
  std::map<ValueId, std::size_t> masters_;  ///< constant, by value of the plain graph
  std::map<ValueId, int> wide_;             ///< slot, by narrow value
  std::map<float, std::size_t> steps_;      ///< constant, by scale of activations
  std::map<int, int> step_of_;              ///< slot of the step, by slot of the quantized value
};

}  // namespace

TrainProgram MakeTrainProgram(const Graph& graph, const QuantizedFrom* from) {
  return ProgramMaker(graph, from).Make();
}

int SlotOf(const TrainProgram& program, const std::string& value) {
  for (const auto& [name, slot] : program.named) {
    if (name == value) return slot;
  }
  throw UserError("the model computes no value '" + value + "' in 32-bit floats");
}

}  // namespace msc
