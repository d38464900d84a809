#include "compiler/ops/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/lstm.h"
#include "compiler/ops/register.h"

// GRU-14 and RNN-14 (X, W, R, B?, lengths?, H0?) -> (Y, Y_h). D is the number of directions, H the
// hidden size, and G the number of gates: 3 of GRU (z, r, h) and 1 of RNN.
//
//   X [steps, batch, inputs]             lengths i32 [batch]: between 0 and steps
//   W [D, G H, inputs], R [D, G H, H]    a block of H rows for each gate
//   B [D, 2 G H]                         biases of W's gates, then of R's
//   H0 [D, batch, H]                     state at the beginning; absent: 0
//   Y [steps, D, batch, H]               h of every step; 0 behind the end of a sequence
//   Y_h [D, batch, H]                    h of the last step
//
//   GRU  z = f(W_z x + R_z h + b_z)      r = f(W_r x + R_r h + b_r)
//        n = g(W_h x + r (R_h h + Rb_h) + Wb_h)       linear_before_reset 1
//        n = g(W_h x + R_h (r h) + Rb_h + Wb_h)       linear_before_reset 0
//        h' = (1 - z) n + z h
//   RNN  h' = f(W x + R h + b)
//
// Batch-first tensors (layout 1) are transposed by the importer. Sources: ONNX operator pages
// GRU-14 and RNN-14.

namespace msc {
namespace {

enum Input : std::size_t { kX, kW, kR, kB, kLengths, kH0 };
enum Gate : std::size_t { kUpdate, kReset, kHidden };

/// Kind of recurrent layer.
struct Kind {
  std::size_t gates = 1;
  std::vector<std::string> activations;  ///< defaults of one direction
};

const Kind& KindOf(const Node& node) {
  static const Kind gru_kind = {.gates = 3, .activations = {"Sigmoid", "Tanh"}};
  static const Kind rnn_kind = {.gates = 1, .activations = {"Tanh"}};
  return node.op == "GRU" ? gru_kind : rnn_kind;
}

using Activation = std::function<double(double)>;

/// Parameters that an activation has, and their defaults.
struct Parameters {
  std::optional<double> alpha = {};
  std::optional<double> beta = {};
};

std::string InLowerCase(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// Returns the parameters of an activation by its name in lower case.
Parameters ParametersOf(const std::string& name) {
  if (name == "leakyrelu") return {.alpha = 0.01};
  if (name == "thresholdedrelu" || name == "elu") return {.alpha = 1};
  if (name == "affine") return {.alpha = 1, .beta = 0};
  if (name == "scaledtanh") return {.alpha = 1, .beta = 1};
  if (name == "hardsigmoid") return {.alpha = 0.2, .beta = 0.5};
  return {};
}

/// Returns an activation of ONNX's recurrent operators by its name in lower case.
Activation ActivationOf(const Node& node, const std::string& name, const Parameters& parameters) {
  const double alpha = parameters.alpha.value_or(0);
  const double beta = parameters.beta.value_or(0);
  if (name == "sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (name == "tanh") return [](double x) { return std::tanh(x); };
  if (name == "relu") return [](double x) { return std::max(x, 0.0); };
  if (name == "affine") return [=](double x) { return alpha * x + beta; };
  if (name == "leakyrelu") return [=](double x) { return x >= 0 ? x : alpha * x; };
  if (name == "thresholdedrelu") return [=](double x) { return x >= alpha ? x : 0.0; };
  if (name == "scaledtanh") return [=](double x) { return alpha * std::tanh(beta * x); };
  if (name == "hardsigmoid") {
    return [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); };
  }
  if (name == "elu") return [=](double x) { return x >= 0 ? x : alpha * std::expm1(x); };
  if (name == "softsign") return [](double x) { return x / (1 + std::abs(x)); };
  if (name == "softplus") {
    return [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  }
  RejectNode(node, "activation '" + name + "' is unknown");
}

/// Returns the activations of one direction. Their names are in any case of letters. The lists of
/// parameters have no entry for an activation without the parameter.
std::vector<Activation> ActivationsOf(const Node& node, std::size_t direction) {
  const Kind& kind = KindOf(node);
  const auto names = AttrOr(node, "activations", std::vector<std::string>{});
  const auto alphas = AttrOr(node, "activation_alpha", std::vector<float>{});
  const auto betas = AttrOr(node, "activation_beta", std::vector<float>{});
  const std::size_t count = kind.activations.size();
  std::size_t alphas_taken = 0;
  std::size_t betas_taken = 0;
  const auto take = [](const std::vector<float>& list, std::size_t& taken,
                       std::optional<double>& parameter) {
    if (!parameter || taken == list.size()) return;
    parameter = static_cast<double>(list[taken++]);
  };
  std::vector<Activation> activations;
  for (std::size_t at = 0; at < (direction + 1) * count; ++at) {
    const std::string name =
        InLowerCase(at < names.size() ? names[at] : kind.activations[at % count]);
    Parameters parameters = ParametersOf(name);
    take(alphas, alphas_taken, parameters.alpha);
    take(betas, betas_taken, parameters.beta);
    if (at < direction * count) continue;
    activations.push_back(ActivationOf(node, name, parameters));
  }
  return activations;
}

/// Returns the shape of an input, or nullptr if it is unknown. Rejects a rank other than `rank`.
const Shape* ShapeOfRank(const InferInput& in, std::size_t index, std::size_t rank) {
  const Shape* shape = ShapeOf(in, index);
  if (shape != nullptr && shape->size() != rank) {
    RejectNode(*in.node, "input " + std::to_string(index) + " of shape " + ToString(*shape) +
                             " must have " + std::to_string(rank) + " dimensions");
  }
  return shape;
}

std::vector<ValueType> Infer(const InferInput& in) {
  const Node& node = *in.node;
  const std::size_t gates = KindOf(node).gates;
  if (AttrOr(node, "layout", std::int64_t{0}) != 0) {
    RejectNode(node, "batch-first tensors (layout 1) are transposed by the importer");
  }
  if (AttrOr(node, "clip", 0.0F) < 0.0F) RejectNode(node, "clip must not be negative");
  for (std::int64_t d = 0; d < LstmDirections(node); ++d) {
    static_cast<void>(ActivationsOf(node, static_cast<std::size_t>(d)));
  }
  RequireType(in, kX, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  DType dtype = TypeOf(in, kX);
  for (const std::size_t i : {kW, kR, kB, kH0}) {
    if (!HasInput(in, i)) continue;
    const DType same = RequireSameType(in, kX, i);
    if (dtype == DType::kUndefined) dtype = same;
  }
  RequireType(in, kLengths, {DType::kI32});
  const Dim directions(LstmDirections(node));
  for (const std::size_t i : {kW, kR, kH0}) (void)Joined(in, directions, i, 3, 0);
  (void)Joined(in, directions, kB, 2, 0);
  const Dim steps = Joined(in, Dim(), kX, 3, 0);
  Dim batch = Joined(in, Dim(), kX, 3, 1);
  batch = Joined(in, batch, kLengths, 1, 0);
  batch = Joined(in, batch, kH0, 3, 1);
  (void)Joined(in, Joined(in, Dim(), kX, 3, 2), kW, 3, 2);
  Dim hidden;
  if (const auto given = AttrOr(node, "hidden_size", std::int64_t{0}); given > 0) hidden = given;
  for (const std::size_t i : {kR, kH0}) hidden = Joined(in, hidden, i, 3, 2);
  const auto blocks = static_cast<std::int64_t>(gates);
  RequireBlocks(in, kW, 3, blocks, hidden);
  RequireBlocks(in, kR, 3, blocks, hidden);
  RequireBlocks(in, kB, 2, 2 * blocks, hidden);
  const ValueType last{.dtype = dtype, .shape = Shape{directions, batch, hidden}};
  ValueType all = last;
  all.shape = Shape{steps, directions, batch, hidden};
  return {std::move(all), last};
}

/// One direction of a layer, and what a step needs.
template <class T>
class Direction {
 public:
  Direction(const Node& node, EvalInputs inputs, std::size_t index)
      : gates_(KindOf(node).gates),
        hidden_(static_cast<std::size_t>(inputs[kR]->dims()[2])),
        inputs_(static_cast<std::size_t>(inputs[kW]->dims()[2])),
        activations_(ActivationsOf(node, index)),
        clip_(static_cast<double>(AttrOr(node, "clip", 0.0F))),
        reset_later_(AttrOr(node, "linear_before_reset", std::int64_t{0}) != 0) {
    const std::size_t rows = gates_ * hidden_;
    w_ = inputs[kW]->Values<T>().subspan(index * rows * inputs_, rows * inputs_);
    r_ = inputs[kR]->Values<T>().subspan(index * rows * hidden_, rows * hidden_);
    bias_.resize(2 * rows);
    if (const Tensor* bias = InputAt(inputs, kB); bias != nullptr) {
      std::ranges::copy(bias->Values<T>().subspan(index * 2 * rows, 2 * rows), bias_.begin());
    }
  }

  [[nodiscard]] std::size_t hidden() const { return hidden_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }

  /// Replaces `h` by the state after a step.
  void Step(std::span<const T> x, std::vector<T>& h) const {
    std::vector<T> next(hidden_);
    if (gates_ == 1) {
      for (std::size_t k = 0; k < hidden_; ++k) {
        next[k] = Activate(0, OfInput(0, k, x) + OfState(0, k, h));
      }
      h = std::move(next);
      return;
    }
    std::vector<T> update(hidden_);
    std::vector<T> reset(hidden_);
    for (std::size_t k = 0; k < hidden_; ++k) {
      update[k] = Activate(0, OfInput(kUpdate, k, x) + OfState(kUpdate, k, h));
      reset[k] = Activate(0, OfInput(kReset, k, x) + OfState(kReset, k, h));
    }
    std::vector<T> kept = h;
    if (!reset_later_) {
      for (std::size_t k = 0; k < hidden_; ++k) kept[k] *= reset[k];
    }
    for (std::size_t k = 0; k < hidden_; ++k) {
      const T state = OfState(kHidden, k, kept);
      const T fresh =
          Activate(1, OfInput(kHidden, k, x) + (reset_later_ ? reset[k] * state : state));
      next[k] = (T{1} - update[k]) * fresh + update[k] * h[k];
    }
    h = std::move(next);
  }

 private:
  [[nodiscard]] T Activate(std::size_t which, T x) const {
    auto value = static_cast<double>(x);
    if (clip_ > 0) value = std::clamp(value, -clip_, clip_);
    return static_cast<T>(activations_[which](value));
  }
  [[nodiscard]] T OfInput(std::size_t gate, std::size_t k, std::span<const T> x) const {
    return Product(w_, gate * hidden_ + k, x) + bias_[gate * hidden_ + k];
  }
  [[nodiscard]] T OfState(std::size_t gate, std::size_t k, std::span<const T> h) const {
    return Product(r_, gate * hidden_ + k, h) + bias_[(gates_ + gate) * hidden_ + k];
  }
  static T Product(std::span<const T> matrix, std::size_t row, std::span<const T> x) {
    T sum{0};
    for (std::size_t i = 0; i < x.size(); ++i) sum += matrix[row * x.size() + i] * x[i];
    return sum;
  }

  std::size_t gates_;
  std::size_t hidden_;
  std::size_t inputs_;
  std::vector<Activation> activations_;
  double clip_;
  bool reset_later_;
  std::span<const T> w_;
  std::span<const T> r_;
  std::vector<T> bias_;  ///< of the input, then of the state
};

template <class T>
void RunInto(const Node& node, EvalInputs inputs, std::vector<Tensor>& outputs) {
  const Tensor& x = *inputs[kX];
  const auto steps = static_cast<std::size_t>(x.dims()[0]);
  const auto batch = static_cast<std::size_t>(x.dims()[1]);
  const auto directions = static_cast<std::size_t>(LstmDirections(node));
  const bool reverse = AttrOr(node, "direction", std::string("forward")) == "reverse";
  const auto y = outputs[0].MutableValues<T>();
  const auto last = outputs[1].MutableValues<T>();
  const Tensor* initial = InputAt(inputs, kH0);
  for (std::size_t d = 0; d < directions; ++d) {
    const Direction<T> direction(node, inputs, d);
    const std::size_t hidden = direction.hidden();
    for (std::size_t n = 0; n < batch; ++n) {
      const std::size_t at = (d * batch + n) * hidden;  // offset in the states
      std::vector<T> h(hidden);
      if (initial != nullptr) {
        std::ranges::copy(initial->Values<T>().subspan(at, hidden), h.begin());
      }
      const std::size_t length = StepsOf(node, InputAt(inputs, kLengths), n, steps);
      for (std::size_t s = 0; s < length; ++s) {
        // A reverse direction starts at the end of its own sequence, not in the padding behind it.
        const std::size_t t = reverse || d == 1 ? length - 1 - s : s;
        direction.Step(
            x.Values<T>().subspan((t * batch + n) * direction.inputs(), direction.inputs()), h);
        // Y is zeroed, so steps behind the end of a sequence stay 0.
        std::ranges::copy(h, y.subspan(((t * directions + d) * batch + n) * hidden).begin());
      }
      std::ranges::copy(h, last.subspan(at).begin());
    }
  }
}

std::vector<Tensor> Eval(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(Infer, node, inputs);
  WithFloat(node, inputs[kX]->dtype(), [&]<class T>() { RunInto<T>(node, inputs, outputs); });
  return outputs;
}

/// Counts both products of every step and, for each gate of a hidden unit, an activation of 12
/// flops.
double Flops(const Node& node, std::span<const ValueType> in, std::span<const ValueType> /*out*/) {
  const auto x = in[kX].shape ? StaticDims(*in[kX].shape) : std::nullopt;
  const auto r = in[kR].shape ? StaticDims(*in[kR].shape) : std::nullopt;
  if (!x || !r || x->size() != 3 || r->size() != 3) return 0.0;
  const double calls = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]);
  const double units = static_cast<double>((*r)[0]) * static_cast<double>((*r)[2]);
  const double gates = 12.0 * static_cast<double>(KindOf(node).gates);
  return calls * (2.0 * (ElementsOf(in[kW]) + ElementsOf(in[kR])) + gates * units);
}

}  // namespace

Dim Joined(const InferInput& in, const Dim& dim, std::size_t index, std::size_t rank,
           std::size_t axis) {
  const Shape* shape = ShapeOfRank(in, index, rank);
  return shape == nullptr ? dim : MergeDims(*in.node, dim, (*shape)[axis]);
}

void RequireBlocks(const InferInput& in, std::size_t index, std::size_t rank, std::int64_t parts,
                   const Dim& hidden) {
  const Shape* shape = ShapeOfRank(in, index, rank);
  if (shape == nullptr || !(*shape)[1].known()) return;
  const std::int64_t size = (*shape)[1].size();
  if (size % parts == 0 && (!hidden.known() || size / parts == hidden.size())) return;
  RejectNode(*in.node, "axis 1 of input " + std::to_string(index) + " must be " +
                           std::to_string(parts) + " times the hidden size" +
                           (hidden.known() ? " " + std::to_string(hidden.size()) : "") + ", not " +
                           std::to_string(size));
}

std::size_t StepsOf(const Node& node, const Tensor* lengths, std::size_t sample,
                    std::size_t steps) {
  if (lengths == nullptr) return steps;
  const std::int32_t length = lengths->Values<std::int32_t>()[sample];
  if (length < 0 || static_cast<std::size_t>(length) > steps) {
    RejectNode(node, "sequence length " + std::to_string(length) + " must be between 0 and " +
                         std::to_string(steps));
  }
  return static_cast<std::size_t>(length);
}

void RegisterRecurrentOps(OpRegistry& ops) {
  for (const bool gru : {true, false}) {
    OpDef op{.name = gru ? "GRU" : "RNN",
             .inputs = {3, 6},
             .max_outputs = 2,
             .attrs = {{.name = "activation_alpha", .otherwise = std::vector<float>{}},
                       {.name = "activation_beta", .otherwise = std::vector<float>{}},
                       {.name = "activations", .otherwise = std::vector<std::string>{}},
                       {.name = "clip", .otherwise = 0.0F},
                       {.name = "direction", .otherwise = std::string("forward")},
                       {.name = "hidden_size", .otherwise = std::int64_t{0}},
                       {.name = "layout", .otherwise = std::int64_t{0}}},
             .infer = Infer,
             .eval = ViaF32(Eval),
             .flops = Flops};
    if (gru) op.attrs.push_back({.name = "linear_before_reset", .otherwise = std::int64_t{0}});
    ops.Add(std::move(op));
  }
}

}  // namespace msc
