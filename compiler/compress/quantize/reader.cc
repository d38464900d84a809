#include "compiler/compress/quantize/reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/compress/quantize/qdq.h"
#include "compiler/compress/quantize/storage.h"
#include "compiler/ops/quantize.h"
#include "compiler/passes/activation.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/narrowing.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// What each runtime fuses was read off its optimized graphs: ONNX Runtime 1.31 (saved by
// optimized_model_filepath) and OpenVINO 2026.4 (its runtime model). TensorRT's row was not
// run: that its quantization is symmetric, with signed integers, is said in its documentation,
// "Working with Quantized Types"; that biases stay f32 is an assumption.
//
// - ONNX Runtime has no Conv that reads integers and returns floats: without QuantizeLinear behind
//   it, it dequantizes the weights in every run and computes in f32. MatMul and Gemm may return
//   floats; but it merges MatMul and the Add of a vector into an f32 Gemm before it looks for
//   integers, and an integer Gemm needs an i32 bias. On ARM, a Conv with i8 on one side and u8 on
//   the other is not fused, so all activations have one type.
// - OpenVINO's Conv computes activations and sums before it rounds; a zero point may cost a pass.
//   Where i8 values are joined by Concat in front of a Conv, 2026.4 keeps them as u8, and negative
//   ones become 0: the runtime model has u8 and no zero point there.
// - TensorRT reads only i8 with zero point 0.
constexpr std::array kReaders = {
    ReaderRules{.name = "any", .runtime = "any runtime", .unsigned_concat = true},
    ReaderRules{.name = "onnxruntime",
                .runtime = "ONNX Runtime",
                .activations = ActivationForm::kUnsigned,
                .rounds_convolutions = true,
                .integer_biases = true,
                .row_biases = true},
    ReaderRules{.name = "openvino", .runtime = "OpenVINO", .unsigned_concat = true},
    ReaderRules{.name = "tensorrt",
                .runtime = "TensorRT",
                .activations = ActivationForm::kSymmetric,
                .affine_weights = false},
};

std::optional<Narrowing> ReadQuantize(const Graph& graph, NodeId id) {
  if (id == kNoNode || !graph.node(id).Is("QuantizeLinear")) return std::nullopt;
  auto form = ReadNarrowing(graph, id);
  if (!form || !form->IsPerTensorInt8()) return std::nullopt;
  return form;
}

bool IsDequantized(const Graph& graph, ValueId value) {
  const auto source = NarrowSource(graph, value);
  return source && source->form.IsPerTensorInt8() && !graph.constant(source->value);
}

/// Returns whether the node is a Conv, Gemm or MatMul of 8-bit integers with constant weights.
bool IsIntegerLayer(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Conv") && !node.Is("Gemm") && !node.Is("MatMul")) return false;
  const auto weights = ReadWeights(graph, node.inputs[1]);
  return weights && weights->widening != kNoNode && !weights->form->IsBF16() &&
         IsDequantized(graph, node.inputs[0]);
}

/// Makes an input that is a constant behind DequantizeLinear an f32 constant: the same numbers.
void WidenInput(Graph& graph, NodeId id, std::size_t index) {
  const ValueId input = graph.node(id).Input(index);
  if (input == kNoValue) return;
  const auto weights = ReadWeights(graph, input);
  if (!weights || weights->widening == kNoNode) return;
  const std::string name = graph.FreeValueName(graph.value(weights->constant).name + "_f32");
  graph.SetInput(id, index, graph.AddConstant(name, WidenedWeights(graph, *weights)));
}

/// Rounds what an integer Conv makes, so that QuantizeLinear follows it.
class ConvRounding {
 public:
  ConvRounding(const std::map<std::string, TensorScale>& scales, Graph& graph, ReaderFit& fit)
      : scales_(scales), graph_(graph), fit_(fit) {}

  void Run() {
    std::vector<NodeId> convolutions;
    for (const NodeId id : graph_.order()) {
      if (graph_.node(id).Is("Conv") && IsIntegerLayer(graph_, id)) convolutions.push_back(id);
    }
    for (const NodeId id : convolutions) {
      const std::string value = graph_.value(graph_.node(id).outputs.front()).name;
      if (Round(graph_.node(id).outputs.front())) continue;
      fit_.float_layers.push_back(graph_.node(id).name + ": the strategy has no scale for '" +
                                  value + "'");
      WidenInput(graph_, id, 1);
      WidenInput(graph_, id, 2);
    }
  }

 private:
  /// Returns the form of the only reader of `value`, if that is QuantizeLinear.
  [[nodiscard]] std::optional<Narrowing> FormBehind(ValueId value) const {
    const auto reader = OnlyReader(graph_, value);
    return reader ? ReadQuantize(graph_, reader->node) : std::nullopt;
  }

  /// Makes QuantizeLinear the only reader of `value`. Returns false if there is no scale.
  bool Round(ValueId value) {
    if (FormBehind(value)) return true;
    const ActivationMatch match = FindActivation(graph_, value);
    const std::string& op = match.activation.op;
    if (!match.nodes.empty() && (op == "Relu" || op == "Clip") &&
        RoundBounds(value, match.nodes.front(), match.activation)) {
      return true;
    }
    const auto scale = scales_.find(graph_.value(value).name);
    if (scale == scales_.end() || IsCaptured(graph_, value)) return false;
    Insert(value, Useful(scale->second, match.activation));
    ++fit_.rounded;
    return true;
  }

  /// Rounds what `node`, a Relu or Clip of `value`, makes, and then `value` on the same grid: the
  /// integers do not change, since both functions are monotone.
  bool RoundBounds(ValueId value, NodeId node, const Activation& bounds) {
    const ValueId bounded = graph_.node(node).outputs.front();
    if (!Round(bounded)) return false;
    const auto form = FormBehind(bounded);
    if (!form) return false;
    if (Saturates(*form, bounds) && Bypass(graph_, node, value)) return true;
    Insert(value, {.dtype = form->dtype == DType::kU8 ? "u8" : "i8",
                   .scale = static_cast<double>(form->scales.front()),
                   .zero_point = form->zero_points.front()});
    return true;
  }

  /// Returns whether the integers of `form` saturate wherever Relu or Clip does.
  static bool Saturates(const Narrowing& form, const Activation& bounds) {
    const QuantRange range = RangeOf(form.dtype);
    const double scale = static_cast<double>(form.scales.front());
    const bool relu = bounds.op == "Relu";
    const double low = relu ? 0.0 : static_cast<double>(bounds.alpha);
    const double high =
        relu ? std::numeric_limits<double>::infinity() : static_cast<double>(bounds.beta);
    const std::int64_t zero = form.zero_points.front();
    return QuantizeScaled(low / scale, zero, range) == range.least &&
           QuantizeScaled(high / scale, zero, range) == range.most;
  }

  /// Returns a scale with all 8 bits for the part of the range of `scale` outside of which the
  /// activation is constant.
  static TensorScale Useful(const TensorScale& scale, const Activation& activation) {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    if (activation.op == "HardSwish") low = -3;
    if (activation.op == "HardSigmoid" && activation.alpha > 0) {
      low = -static_cast<double>(activation.beta) / static_cast<double>(activation.alpha);
      high = (1 - static_cast<double>(activation.beta)) / static_cast<double>(activation.alpha);
    }
    const Levels levels = LevelsOf(scale);
    const double least = static_cast<double>(levels.least - scale.zero_point) * scale.scale;
    const double most = static_cast<double>(levels.most - scale.zero_point) * scale.scale;
    if (low <= least && high >= most && scale.bits == 8) return scale;
    // Zero stays in the range.
    low = std::min(0.0, std::max(low, least));
    high = std::max(0.0, std::min(high, most));
    const auto step = static_cast<float>((high - low) / 255);
    if (!(step >= std::numeric_limits<float>::min())) return scale;
    return {.dtype = "u8",
            .scale = static_cast<double>(step),
            .zero_point =
                std::clamp<std::int64_t>(std::lround(-low / static_cast<double>(step)), 0, 255)};
  }

  /// Lets all readers of `value` read it rounded.
  void Insert(ValueId value, const TensorScale& scale) {
    const std::vector<Use> readers = graph_.uses(value);
    const bool is_output = graph_.IsOutput(value);
    const ValueId rounded = AddQuantization(value, scale, graph_);
    for (const Use& use : readers) graph_.SetInput(use.node, use.index, rounded);
    if (!is_output) return;
    std::vector<ValueId> outputs = graph_.outputs();
    std::replace(outputs.begin(), outputs.end(), value, rounded);
    graph_.SetOutputs(std::move(outputs));
    const std::string name = graph_.value(value).name;
    graph_.RenameValue(value, graph_.FreeValueName(name + "_exact"));
    graph_.RenameValue(rounded, name);
  }

  const std::map<std::string, TensorScale>& scales_;
  Graph& graph_;
  ReaderFit& fit_;
};

/// The parameters of a QuantizeLinear in a reader's form.
struct Grid {
  DType dtype = DType::kI8;
  float scale = 1;
  std::int64_t zero_point = 0;
};

Grid GridFor(ActivationForm wanted, const Narrowing& form) {
  const float scale = form.scales.front();
  const std::int64_t zero = form.zero_points.front();
  const std::int64_t shift = form.dtype == DType::kI8 ? 128 : 0;
  if (wanted == ActivationForm::kUnsigned) return {DType::kU8, scale, zero + shift};
  // The longer side of 0 gets all levels of its sign.
  constexpr int kMost = 127;
  const std::int64_t below = zero + shift;
  const std::int64_t above = 255 - below;
  const std::int64_t longer = std::max(below == 128 ? 127 : below, above);
  const double step = static_cast<double>(scale) * static_cast<double>(longer) / kMost;
  return {DType::kI8, static_cast<float>(std::min<double>(step, std::numeric_limits<float>::max())),
          0};
}

/// Returns whether two values are one, or equal constants.
bool AreEqual(const Graph& graph, ValueId a, ValueId b) {
  if (a == b) return true;
  const TensorPtr left = graph.constant(a);
  const TensorPtr right = graph.constant(b);
  return left != nullptr && right != nullptr && *left == *right;
}

/// Gives a QuantizeLinear, and the DequantizeLinear that read it, other parameters. Returns false
/// if other nodes read its integers, or some by other parameters: these would change the numbers.
bool MoveGrid(Graph& graph, NodeId id, const Grid& grid) {
  const ValueId integers = graph.node(id).outputs.front();
  const std::vector<Use> readers = graph.uses(integers);
  const bool movable = graph.node(id).HasInput(2) && !graph.IsOutput(integers) &&
                       std::all_of(readers.begin(), readers.end(), [&](const Use& use) {
                         const Node& reader = graph.node(use.node);
                         return use.index == 0 && reader.Is("DequantizeLinear") &&
                                reader.HasInput(2) &&
                                AreEqual(graph, reader.inputs[1], graph.node(id).inputs[1]) &&
                                AreEqual(graph, reader.inputs[2], graph.node(id).inputs[2]);
                       });
  if (!movable) return false;
  const std::string stem = graph.value(integers).name;
  Tensor zero(grid.dtype, graph.constant(graph.node(id).inputs[2])->dims());
  zero.MutableRaw().front() = static_cast<std::byte>(grid.zero_point);
  Tensor step(DType::kF32, graph.constant(graph.node(id).inputs[1])->dims());
  step.MutableValues<float>().front() = grid.scale;
  const ValueId s = graph.AddConstant(graph.FreeValueName(stem + "_scale"), std::move(step));
  const ValueId z = graph.AddConstant(graph.FreeValueName(stem + "_zero_point"), std::move(zero));
  std::vector<NodeId> nodes = {id};
  for (const Use& use : readers) nodes.push_back(use.node);
  for (const NodeId node : nodes) {
    graph.SetInput(node, 1, s);
    graph.SetInput(node, 2, z);
  }
  ValueType type = graph.type(integers);
  type.dtype = grid.dtype;
  graph.SetType(integers, std::move(type));
  return true;
}

/// Returns whether a runtime may carry integers through the node, from its first input (or all
/// inputs) to its outputs.
bool CarriesIntegers(const Node& node) {
  static constexpr std::array<std::string_view, 7> kOthers = {
      "Slice", "Split", "Relu", "Pad", "Resize", "AveragePool", "GlobalAveragePool"};
  return KeepsRange(node) ||
         std::any_of(kOthers.begin(), kOthers.end(), [&](auto op) { return node.Is(op); });
}

/// Returns whether a Concat made the value, or what the value was carried from.
bool ComesFromConcat(const Graph& graph, ValueId value) {
  for (NodeId maker = graph.producer(value); maker != kNoNode;
       maker = graph.producer(graph.node(maker).inputs.front())) {
    if (graph.node(maker).Is("Concat")) return true;
    if (!CarriesIntegers(graph.node(maker))) return false;
  }
  return false;
}

/// Returns whether the value is carried to a Concat.
bool GoesToConcat(const Graph& graph, ValueId value) {
  const std::vector<Use> uses = graph.uses(value);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& reader = graph.node(use.node);
    if (reader.Is("Concat")) return true;
    if (use.index != 0 || !CarriesIntegers(reader)) return false;
    return std::any_of(reader.outputs.begin(), reader.outputs.end(),
                       [&](ValueId output) { return GoesToConcat(graph, output); });
  });
}

/// Returns whether the integers of a QuantizeLinear are of values that a Concat joined or will
/// join.
bool MeetsConcat(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (ComesFromConcat(graph, node.inputs.front())) return true;
  const std::vector<Use> uses = graph.uses(node.outputs.front());
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& reader = graph.node(use.node);
    return reader.Is("DequantizeLinear") && GoesToConcat(graph, reader.outputs.front());
  });
}

void FormActivations(const ReaderRules& reader, Graph& graph, ReaderFit& fit) {
  if (reader.activations == ActivationForm::kAsDecided && !reader.unsigned_concat) return;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const auto form = ReadQuantize(graph, id);
    if (!form) continue;
    ActivationForm wanted = reader.activations;
    if (reader.unsigned_concat && MeetsConcat(graph, id)) wanted = ActivationForm::kUnsigned;
    if (wanted == ActivationForm::kAsDecided) continue;
    const Grid grid = GridFor(wanted, *form);
    const bool same = grid.dtype == form->dtype && grid.scale == form->scales.front() &&
                      grid.zero_point == form->zero_points.front();
    if (same || !MoveGrid(graph, id, grid)) continue;
    fit.coarser += grid.scale > form->scales.front() ? 1 : 0;
  }
}

void WidenAffineWeights(Graph& graph, ReaderFit& fit) {
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    if (!IsIntegerLayer(graph, id)) continue;
    const auto weights = ReadWeights(graph, graph.node(id).inputs[1]);
    const auto& zeros = weights->form->zero_points;
    if (std::all_of(zeros.begin(), zeros.end(), [](std::int64_t zero) { return zero == 0; })) {
      continue;
    }
    fit.float_layers.push_back(graph.node(id).name + ": its weights have a zero point");
    WidenInput(graph, id, 1);
  }
}

void WidenBiases(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (node.Is("Conv") || node.Is("Gemm")) WidenInput(graph, id, 2);
  }
}

/// Makes the vector that is added behind an integer MatMul a matrix of one row.
void ShapeBiases(Graph& graph) {
  for (const LayerChain& chain : FindLayerChains(graph)) {
    if (chain.bias_add == kNoNode || !graph.node(chain.producer).Is("MatMul") ||
        !IsIntegerLayer(graph, chain.producer)) {
      continue;
    }
    const Node& add = graph.node(chain.bias_add);
    const std::size_t index = graph.constant(add.inputs[0]) ? 0 : 1;
    const TensorPtr bias = graph.constant(add.inputs[index]);
    if (!bias || bias->dims().size() != 1) continue;
    ReplaceConstant(
        graph, chain.bias_add, index,
        Tensor::From<float>(DType::kF32, {1, bias->dims().front()}, bias->Values<float>()));
  }
}

}  // namespace

std::span<const ReaderRules> AllReaders() {
  return kReaders;
}

const ReaderRules& FindReader(std::string_view name) {
  std::string known;
  for (const ReaderRules& reader : kReaders) {
    if (reader.name == name) return reader;
    known += (known.empty() ? "" : ", ") + std::string(reader.name);
  }
  throw UserError("no reader is called '" + std::string(name) + "'; known: " + known);
}

ReaderFit FitToReader(const ReaderRules& reader, const std::map<std::string, TensorScale>& scales,
                      Graph& graph) {
  ReaderFit fit;
  if (!reader.affine_weights) WidenAffineWeights(graph, fit);
  if (reader.rounds_convolutions) {
    ConvRounding(scales, graph, fit).Run();
    CancelRequantization(graph);
  }
  FormActivations(reader, graph, fit);
  if (!reader.integer_biases) WidenBiases(graph);
  if (reader.row_biases) ShapeBiases(graph);
  RemoveDeadCode(graph);
  return fit;
}

}  // namespace msc
