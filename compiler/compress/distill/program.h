#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

// A graph in the form in which training executes it. Plain data without functions that need
// linking: it is passed to the trainer, a shared object of its own (trainer.h).

/// One operator over slots of the program. program_ops.cc lists the meaning of `ints` and `reals`
/// for each operator.
struct TrainOp {
  std::string op;        ///< as in ONNX, or one of the fake quantizers below
  std::string node;      ///< for messages
  std::vector<int> in;   ///< slots; -1 if an optional input is absent
  std::vector<int> out;  ///< slots
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
};

/// A slot whose value exists before the first operator runs, other than an input.
struct TrainConstant {
  int slot = 0;
  std::vector<std::int64_t> dims;
  std::vector<float> values;
};

/// What a trained constant stands for.
enum class ParameterKind : std::uint8_t {
  kWeight,          ///< a constant of the graph, trained itself
  kWeightStep,      ///< logarithms of the steps of weights, one per channel or group
  kActivationStep,  ///< logarithm of the step of a quantized tensor
};

/// A constant that training may change.
struct TrainParameter {
  ParameterKind kind = ParameterKind::kWeight;
  std::size_t constant = 0;  ///< index into TrainProgram::constants
  /// For a weight, every (node, input) that reads it; for a weight step, its layer; for an
  /// activation step, the tensors. The number is 0 except for weights.
  std::vector<std::pair<std::string, std::int64_t>> names;
};

/// A program. Besides ONNX operators it has fake quantizers, with the gradients of Esser et al.
/// 2020 (arXiv 1902.08153), equations 1-5:
///   "Quantize"         x, step []     ints: zero point, least, most
///   "QuantizeWeights"  w, step [C]    ints: axis, least, most, weights that share a step
///   "QuantizeBias"     b, step of the layer's input [], step of its weights [C]
///   "RoundBf16"        x
struct TrainProgram {
  int slots = 0;
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<TrainConstant> constants;
  std::vector<TrainParameter> parameters;
  std::vector<TrainOp> ops;
  std::vector<std::pair<std::string, int>> named;  ///< values by name, in the order of the graph
};

/// The graph and the plan that a quantized graph was made from.
struct QuantizedFrom {
  const Graph* plain = nullptr;
  const QuantizePlan* plan = nullptr;
};

/// Throws UserError if an input or output of `graph` counts samples elsewhere than along axis 0.
void CheckSampleAxes(const Graph& graph);

/// Returns `graph` as a program. Constants are f32; integers become `ints`. Trained are weights,
/// biases, scales and slopes of layers and normalisations, and constants that Add adds to a value.
/// BatchNormalization keeps its statistics.
///
/// With `from`, `graph` must be what ApplyQuantizePlan made of `from->plain`. Weights that `graph`
/// stores narrow are then trained in f32, from their values in `plain`, and rounded in every step;
/// their steps and those of activations are trained, too. Without `from`, narrow weights are not
/// trained.
///
/// UserError if an operator cannot be trained, or shapes other than the batch are unknown; it names
/// the node.
[[nodiscard]] TrainProgram MakeTrainProgram(const Graph& graph,
                                            const QuantizedFrom* from = nullptr);

/// Returns the slot of a value. UserError if the program has no value of that name.
[[nodiscard]] int SlotOf(const TrainProgram& program, const std::string& value);

}  // namespace msc
