#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

// A graph as training executes it. Plain data without a function of its own: the trainer is a
// shared object of its own (trainer.h), and this is what crosses to it.

/// One operator over slots of the program. What `ints` and `reals` hold is listed in program.cc,
/// operator by operator.
struct TrainOp {
  std::string op;        ///< as in ONNX, or one of the fake quantizers below
  std::string node;      ///< for messages
  std::vector<int> in;   ///< slots; -1 where an optional input is absent
  std::vector<int> out;  ///< slots
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
};

/// A slot that is there before the first operator runs, besides the inputs.
struct TrainConstant {
  int slot = 0;
  std::vector<std::int64_t> dims;
  std::vector<float> values;
};

enum class ParameterKind : std::uint8_t {
  kWeight,          ///< a constant of the graph, trained as it is
  kWeightStep,      ///< steps of quantized weights, one a channel or group; by their logarithm
  kActivationStep,  ///< the step of a quantized tensor, likewise
};

/// A constant that training may change.
struct TrainParameter {
  ParameterKind kind = ParameterKind::kWeight;
  std::size_t constant = 0;  ///< index into TrainProgram::constants
  /// Of a weight every (node, input) that reads it; of a weight step its layer; of an activation
  /// step the tensors. The number is 0 but for weights.
  std::vector<std::pair<std::string, std::int64_t>> names;
};

/// Fake quantizers, with the gradients of Esser et al. 2020 (arXiv 1902.08153), equations 1-5:
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
  std::vector<std::pair<std::string, int>> named;  ///< values by name, in the graph's order
};

/// What a quantized graph was made of.
struct QuantizedFrom {
  const Graph* plain = nullptr;
  const QuantizePlan* plan = nullptr;
};

/// `graph` as a program. Constants are f32; integers become `ints`. Trained are weights, biases,
/// scales and slopes of layers and normalisations, and constants that Add adds to a value.
///
/// With `from`, `graph` is what ApplyQuantizePlan made of `from->plain`: weights stored narrow in
/// `graph` are then trained in f32 as `plain` holds them, narrowed on the way with steps that are
/// trained too, and so are the steps of activations. Without, narrow weights stay as they are.
///
/// BatchNormalization keeps its statistics. UserError naming the node whose operator cannot be
/// trained, or whose shapes are not known but for the batch.
[[nodiscard]] TrainProgram MakeTrainProgram(const Graph& graph,
                                            const QuantizedFrom* from = nullptr);

/// Slot of a value; UserError if the program has none of that name.
[[nodiscard]] int SlotOf(const TrainProgram& program, const std::string& value);

}  // namespace msc
