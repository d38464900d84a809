#include "compiler/ops/lstm.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/recurrent.h"
#include "compiler/ops/register.h"

// LSTM; lstm.h defines it.

namespace msc {
namespace {

void CheckAttributes(const Node& node) {
  const std::vector<std::string> plain = {"Sigmoid", "Tanh", "Tanh"};
  const auto activations = AttrOr(node, "activations", std::vector<std::string>{});
  for (std::size_t i = 0; i < activations.size(); ++i) {
    // A bidirectional LSTM lists the three activations once per direction.
    if (activations[i] == plain[i % plain.size()]) continue;
    RejectNode(node, "activations other than Sigmoid, Tanh and Tanh are not supported");
  }
  if (AttrOr(node, "clip", 0.0F) != 0.0F) RejectNode(node, "clip is not supported");
  if (AttrOr(node, "input_forget", std::int64_t{0}) != 0) {
    RejectNode(node, "coupled gates (input_forget 1) are not supported");
  }
  if (AttrOr(node, "layout", std::int64_t{0}) != 0) {
    RejectNode(node, "batch-first tensors (layout 1) are not supported: transpose them");
  }
  if (AttrOr(node, "hidden_size", std::int64_t{0}) < 0) {
    RejectNode(node, "hidden_size must not be negative");
  }
}

std::vector<ValueType> InferLstm(const InferInput& in) {
  const Node& node = *in.node;
  CheckAttributes(node);
  RequireType(in, kLstmX, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  DType dtype = TypeOf(in, kLstmX);
  for (const std::size_t i : {kLstmW, kLstmR, kLstmB, kLstmH, kLstmC, kLstmP}) {
    if (!HasInput(in, i)) continue;
    const DType same = RequireSameType(in, kLstmX, i);
    if (dtype == DType::kUndefined) dtype = same;
  }
  RequireType(in, kLstmLengths, {DType::kI32});

  const Dim directions(LstmDirections(node));
  for (const std::size_t i : {kLstmW, kLstmR, kLstmH, kLstmC})
    (void)Joined(in, directions, i, 3, 0);
  for (const std::size_t i : {kLstmB, kLstmP}) (void)Joined(in, directions, i, 2, 0);
  const Dim steps = Joined(in, Dim(), kLstmX, 3, 0);
  Dim batch = Joined(in, Dim(), kLstmX, 3, 1);
  batch = Joined(in, batch, kLstmLengths, 1, 0);
  for (const std::size_t i : {kLstmH, kLstmC}) batch = Joined(in, batch, i, 3, 1);
  (void)Joined(in, Joined(in, Dim(), kLstmX, 3, 2), kLstmW, 3, 2);
  Dim hidden;
  if (const auto given = AttrOr(node, "hidden_size", std::int64_t{0}); given > 0) hidden = given;
  for (const std::size_t i : {kLstmR, kLstmH, kLstmC}) hidden = Joined(in, hidden, i, 3, 2);
  const Shape* w = ShapeOf(in, kLstmW);
  RequireBlocks(in, kLstmW, 3, kLstmGates, hidden);
  if (!hidden.known() && w != nullptr && (*w)[1].known()) {
    hidden = (*w)[1].size() / static_cast<std::int64_t>(kLstmGates);
  }
  RequireBlocks(in, kLstmR, 3, kLstmGates, hidden);
  RequireBlocks(in, kLstmB, 2, 2 * kLstmGates, hidden);
  RequireBlocks(in, kLstmP, 2, 3, hidden);

  const ValueType last{.dtype = dtype, .shape = Shape{directions, batch, hidden}};
  ValueType all = last;
  all.shape = Shape{steps, directions, batch, hidden};
  return {std::move(all), last, last};
}

/// Weights of one direction, transposed for AddProducts.
template <class T>
struct Weights {
  std::size_t inputs = 0;
  std::size_t hidden = 0;
  std::vector<T> w;               ///< [inputs, 4 * hidden]
  std::vector<T> r;               ///< [hidden, 4 * hidden]
  std::vector<T> bias = {};       ///< [4 * hidden], sum of both biases
  std::vector<T> peepholes = {};  ///< [3 * hidden]
};

/// Returns matrix `index` of [D, rows, columns], transposed.
template <class T>
std::vector<T> Turned(const Tensor& tensor, std::size_t index) {
  const auto rows = static_cast<std::size_t>(tensor.dims()[1]);
  const auto columns = static_cast<std::size_t>(tensor.dims()[2]);
  const auto from = tensor.Values<T>().subspan(index * rows * columns, rows * columns);
  std::vector<T> turned(from.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      turned[column * rows + row] = from[row * columns + column];
    }
  }
  return turned;
}

template <class T>
Weights<T> ReadWeights(EvalInputs inputs, std::size_t direction) {
  Weights<T> weights{.inputs = static_cast<std::size_t>(inputs[kLstmW]->dims()[2]),
                     .hidden = static_cast<std::size_t>(inputs[kLstmR]->dims()[2]),
                     .w = Turned<T>(*inputs[kLstmW], direction),
                     .r = Turned<T>(*inputs[kLstmR], direction)};
  const std::size_t rows = kLstmGates * weights.hidden;
  weights.bias.resize(rows);
  weights.peepholes.resize(3 * weights.hidden);
  if (const Tensor* bias = InputAt(inputs, kLstmB); bias != nullptr) {
    const auto from = bias->Values<T>().subspan(direction * 2 * rows, 2 * rows);
    // Every gate adds both biases, so their sum suffices.
    for (std::size_t i = 0; i < rows; ++i) weights.bias[i] = from[i] + from[rows + i];
  }
  if (const Tensor* peepholes = InputAt(inputs, kLstmP); peepholes != nullptr) {
    const std::size_t count = weights.peepholes.size();
    const auto from = peepholes->Values<T>().subspan(direction * count, count);
    std::copy(from.begin(), from.end(), weights.peepholes.begin());
  }
  return weights;
}

/// Adds x[k] * row k to all sums, for each k in order. In this fixed order, removing rows whose
/// products are zero, as pruning does, changes no bit of a sum.
template <class T>
void AddProducts(std::span<const T> x, const std::vector<T>& rows, std::span<T> sums) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    const T* row = rows.data() + k * sums.size();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += x[k] * row[i];
  }
}

// Takes exp only of a non-positive number, which cannot overflow.
template <class T>
T Sigmoid(T x) {
  const T e = std::exp(-std::abs(x));
  return x >= T{0} ? T{1} / (T{1} + e) : e / (T{1} + e);
}

template <class T>
struct State {
  std::vector<T> h;
  std::vector<T> c;
  std::vector<T> gates;
};

template <class T>
void Step(const Weights<T>& weights, std::span<const T> x, State<T>& state) {
  std::fill(state.gates.begin(), state.gates.end(), T{0});
  AddProducts<T>(x, weights.w, state.gates);
  AddProducts<T>(state.h, weights.r, state.gates);
  const std::size_t hidden = weights.hidden;
  for (std::size_t k = 0; k < hidden; ++k) {
    const auto gate = [&](LstmGate which) {
      return state.gates[which * hidden + k] + weights.bias[which * hidden + k];
    };
    const auto peep = [&](LstmGate which) {  // gates with peepholes come first
      return weights.peepholes[which * hidden + k] * state.c[k];
    };
    const T i = Sigmoid(gate(kLstmGateI) + peep(kLstmGateI));
    const T f = Sigmoid(gate(kLstmGateF) + peep(kLstmGateF));
    state.c[k] = f * state.c[k] + i * std::tanh(gate(kLstmGateC));
    // LSTM-14: the peephole of o, unlike those of i and f, sees the new cell state.
    const T o = Sigmoid(gate(kLstmGateO) + peep(kLstmGateO));
    state.h[k] = o * std::tanh(state.c[k]);
  }
}

template <class T>
void LstmInto(const Node& node, EvalInputs inputs, std::vector<Tensor>& outputs) {
  const Tensor& x = *inputs[kLstmX];
  const auto steps = static_cast<std::size_t>(x.dims()[0]);
  const auto batch = static_cast<std::size_t>(x.dims()[1]);
  const auto directions = static_cast<std::size_t>(LstmDirections(node));
  const bool reverse = AttrOr(node, "direction", std::string("forward")) == "reverse";
  const auto y = outputs[0].MutableValues<T>();
  for (std::size_t d = 0; d < directions; ++d) {
    const Weights<T> weights = ReadWeights<T>(inputs, d);
    const std::size_t hidden = weights.hidden;
    for (std::size_t n = 0; n < batch; ++n) {
      const std::size_t at = (d * batch + n) * hidden;  // offset in the states
      const auto initial = [&](LstmInput which) {
        const Tensor* tensor = InputAt(inputs, which);
        if (tensor == nullptr) return std::vector<T>(hidden);
        const auto from = tensor->Values<T>().subspan(at, hidden);
        return std::vector<T>(from.begin(), from.end());
      };
      State<T> state{initial(kLstmH), initial(kLstmC), std::vector<T>(kLstmGates * hidden)};
      const std::size_t length = StepsOf(node, InputAt(inputs, kLstmLengths), n, steps);
      for (std::size_t s = 0; s < length; ++s) {
        // A reverse direction starts at the end of its own sequence, not in the padding behind it.
        const std::size_t t = reverse || d == 1 ? length - 1 - s : s;
        Step(weights, x.Values<T>().subspan((t * batch + n) * weights.inputs, weights.inputs),
             state);
        // Y is zeroed, so steps behind the end of a sequence stay 0.
        std::copy(
            state.h.begin(), state.h.end(),
            y.begin() + static_cast<std::ptrdiff_t>(((t * directions + d) * batch + n) * hidden));
      }
      const auto place = static_cast<std::ptrdiff_t>(at);
      std::copy(state.h.begin(), state.h.end(), outputs[1].MutableValues<T>().begin() + place);
      std::copy(state.c.begin(), state.c.end(), outputs[2].MutableValues<T>().begin() + place);
    }
  }
}

std::vector<Tensor> EvalLstm(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLstm, node, inputs);
  WithFloat(node, inputs[kLstmX]->dtype(), [&]<class T>() { LstmInto<T>(node, inputs, outputs); });
  return outputs;
}

/// Counts both products of every step and, for each hidden unit, three sigmoids of 12 flops, two
/// tanh of 10 and 8 other operations.
double LstmFlops(const Node& /*node*/, std::span<const ValueType> in,
                 std::span<const ValueType> /*out*/) {
  const auto x = in[kLstmX].shape ? StaticDims(*in[kLstmX].shape) : std::nullopt;
  const auto r = in[kLstmR].shape ? StaticDims(*in[kLstmR].shape) : std::nullopt;
  if (!x || !r || x->size() != 3 || r->size() != 3) return 0.0;
  const double steps = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]);
  const double units = static_cast<double>((*r)[0]) * static_cast<double>((*r)[2]);
  const double products = ElementsOf(in[kLstmW]) + ElementsOf(in[kLstmR]);
  return steps * (2.0 * products + (3 * 12.0 + 2 * 10.0 + 8.0) * units);
}

}  // namespace

std::int64_t LstmDirections(const Node& node) {
  const std::string direction = AttrOr(node, "direction", std::string("forward"));
  if (direction == "bidirectional") return 2;
  if (direction != "forward" && direction != "reverse") {
    RejectNode(node,
               "direction must be forward, reverse or bidirectional, not '" + direction + "'");
  }
  return 1;
}

void RegisterLstmOps(OpRegistry& ops) {
  ops.Add({.name = "LSTM",
           .inputs = {3, 8},
           .max_outputs = 3,
           .attrs = {{.name = "activation_alpha", .otherwise = std::vector<float>{}},
                     {.name = "activation_beta", .otherwise = std::vector<float>{}},
                     {.name = "activations", .otherwise = std::vector<std::string>{}},
                     {.name = "clip", .otherwise = 0.0F},
                     {.name = "direction", .otherwise = std::string("forward")},
                     {.name = "hidden_size", .otherwise = std::int64_t{0}},
                     {.name = "input_forget", .otherwise = std::int64_t{0}},
                     {.name = "layout", .otherwise = std::int64_t{0}}},
           .infer = InferLstm,
           .eval = ViaF32(EvalLstm),
           .flops = LstmFlops});
}

}  // namespace msc
