#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Attention whose past is a matrix of fixed size. Source: ONNX operator page LinearAttention-27.
//
//   LinearAttention (Q [B,T,Hq*K], K [B,T,H*K], V [B,T,H*V], past [B,H,K,V]?, decay?, beta?)
//     -> Y [B,T,Hq*V], state [B,H,K,V]
//
// In every step t, for each head: S = exp(decay) * S, where there is a decay; then S += k * u,
// where u = v, or beta * (v - S^T k) where there is a beta; then y = scale * S^T q for each of the
// heads of Q that share this one.

namespace msc {
namespace {

enum Input : std::size_t { kQ = 0, kK = 1, kV = 2, kPast = 3, kDecay = 4, kBeta = 5 };

struct Rule {
  bool decays = false;
  bool corrects = false;
};

Rule RuleOf(const Node& node) {
  const std::string name = AttrOr(node, "update_rule", std::string("gated_delta"));
  if (name == "linear") return {};
  if (name == "gated") return {.decays = true};
  if (name == "delta") return {.corrects = true};
  if (name == "gated_delta") return {.decays = true, .corrects = true};
  RejectNode(node, "attribute 'update_rule' cannot be '" + name + "'");
}

struct Heads {
  std::int64_t of_q = 0;
  std::int64_t of_kv = 0;
};

Heads HeadsOf(const Node& node) {
  const Heads heads{.of_q = AttrOr(node, "q_num_heads", std::int64_t{0}),
                    .of_kv = AttrOr(node, "kv_num_heads", std::int64_t{0})};
  if (heads.of_kv < 1 || heads.of_q < 1 || heads.of_q % heads.of_kv != 0) {
    RejectNode(node, "needs a number of query heads that is a multiple of that of value heads");
  }
  return heads;
}

/// Returns the size of one of `heads` heads that lie side by side along the last axis.
Dim HeadSize(const InferInput& in, std::size_t index, std::int64_t heads) {
  const Shape* shape = ShapeOf(in, index);
  if (shape == nullptr || !shape->back().known()) return {};
  if (shape->back().size() % heads != 0) {
    RejectNode(*in.node, "input " + std::to_string(index) + " of shape " + ToString(*shape) +
                             " does not have " + std::to_string(heads) + " heads");
  }
  return shape->back().size() / heads;
}

/// Checks decay or beta, whose last axis has one entry a head, or as many as `other`.
void CheckPerHead(const InferInput& in, std::size_t index, const Shape& steps, std::int64_t heads,
                  const Dim& other) {
  const Shape* shape = ShapeOf(in, index);
  if (shape == nullptr) return;
  bool fits = shape->size() == 3;
  for (std::size_t i = 0; fits && i < 2; ++i) {
    fits = !(*shape)[i].known() || !steps[i].known() || (*shape)[i] == steps[i];
  }
  const bool open = fits && (!shape->back().known() || !other.known());
  fits = fits && (open || shape->back() == other || shape->back() == Dim(heads));
  if (!fits) {
    RejectNode(*in.node,
               "input " + std::to_string(index) + " cannot have shape " + ToString(*shape));
  }
}

void CheckTypes(const InferInput& in) {
  for (const std::size_t i : {kQ, kK, kV, kPast, kDecay, kBeta}) {
    RequireType(in, i, {DType::kF32, DType::kF16, DType::kBF16});
    if (i != kPast && i != kQ && HasInput(in, i)) RequireSameType(in, kQ, i);
  }
  const Rule rule = RuleOf(*in.node);
  if (rule.decays != HasInput(in, kDecay) || rule.corrects != HasInput(in, kBeta)) {
    RejectNode(*in.node, "its update_rule does not fit the inputs decay and beta");
  }
}

std::vector<ValueType> InferLinearAttention(const InferInput& in) {
  const Node& node = *in.node;
  CheckTypes(in);
  const Heads heads = HeadsOf(node);
  for (const std::size_t i : {kQ, kK, kV}) {
    const Shape* shape = ShapeOf(in, i);
    if (shape != nullptr && shape->size() != 3) RejectNode(node, "needs inputs of three axes");
  }
  const DType of_state = HasInput(in, kPast) ? TypeOf(in, kPast) : TypeOf(in, kQ);
  std::vector<ValueType> types = {{.dtype = TypeOf(in, kQ)}, {.dtype = of_state}};
  const Shape* q = ShapeOf(in, kQ);
  const Shape* k = ShapeOf(in, kK);
  const Shape* v = ShapeOf(in, kV);
  if (q == nullptr || k == nullptr || v == nullptr) return types;
  Shape steps(2);
  for (std::size_t i = 0; i < 2; ++i) {
    steps[i] = MergeDims(node, MergeDims(node, (*q)[i], (*k)[i]), (*v)[i]);
  }
  const Dim keys = MergeDims(node, HeadSize(in, kQ, heads.of_q), HeadSize(in, kK, heads.of_kv));
  const Dim values = HeadSize(in, kV, heads.of_kv);
  CheckPerHead(in, kDecay, steps, heads.of_kv,
               keys.known() ? Dim(keys.size() * heads.of_kv) : Dim());
  CheckPerHead(in, kBeta, steps, heads.of_kv, Dim(1));
  Shape state = {steps[0], Dim(heads.of_kv), keys, values};
  if (const Shape* past = ShapeOf(in, kPast)) {
    if (past->size() != 4) RejectNode(node, "needs a past state of four axes");
    for (std::size_t i = 0; i < 4; ++i) state[i] = MergeDims(node, state[i], (*past)[i]);
  }
  types[0].shape =
      Shape{steps[0], steps[1], values.known() ? Dim(values.size() * heads.of_q) : Dim()};
  types[1].shape = std::move(state);
  return types;
}

/// Reads decay or beta in f32: one number for each head, for each entry of its keys, or for all.
class PerHead {
 public:
  PerHead(const Tensor& tensor, std::int64_t heads)
      : values_(tensor.Values<float>()), last_(tensor.dims().back()), heads_(heads) {}

  /// Returns that of entry `key` of `keys` of a head; `row` counts the steps of all samples.
  [[nodiscard]] float At(std::int64_t row, std::int64_t head, std::int64_t key,
                         std::int64_t keys) const {
    std::int64_t at = 0;
    if (last_ == heads_) {
      at = head;
    } else if (last_ != 1) {
      at = head * keys + key;
    }
    return values_[static_cast<std::size_t>(row * last_ + at)];
  }

 private:
  std::span<const float> values_;
  std::int64_t last_;
  std::int64_t heads_;
};

/// The numbers of one head in one step.
struct Step {
  std::span<const float> k;
  std::span<const float> v;
  std::span<float> state;  ///< [K, V]
};

/// Adds S^T * x to `y`.
void AddRead(std::span<const float> state, std::span<const float> x, std::span<float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) y[j] += state[i * y.size() + j] * x[i];
  }
}

/// Adds k * u to the state, where u is v or, with a beta, what v adds to what the state has.
void Write(const Step& step, const float* beta) {
  std::vector<float> u(step.v.begin(), step.v.end());
  if (beta != nullptr) {
    std::vector<float> known(u.size(), 0.0F);
    AddRead(step.state, step.k, known);
    for (std::size_t j = 0; j < u.size(); ++j) u[j] = *beta * (u[j] - known[j]);
  }
  for (std::size_t i = 0; i < step.k.size(); ++i) {
    for (std::size_t j = 0; j < u.size(); ++j) step.state[i * u.size() + j] += step.k[i] * u[j];
  }
}

std::span<const float> Part(const Tensor& tensor, std::int64_t index, std::int64_t size) {
  return tensor.Values<float>().subspan(static_cast<std::size_t>(index * size),
                                        static_cast<std::size_t>(size));
}

/// Computes with inputs in f32; `y` and `state` are f32, and `state` starts as the past one.
void Attend(const Node& node, EvalInputs inputs, Tensor& y, Tensor& state) {
  const Heads heads = HeadsOf(node);
  const std::int64_t keys = state.dims()[2];
  const std::int64_t values = state.dims()[3];
  const std::int64_t steps = y.dims()[1];
  const std::int64_t group = heads.of_q / heads.of_kv;
  const float given = AttrOr(node, "scale", 0.0F);
  const float scale = given != 0.0F ? given : 1.0F / std::sqrt(static_cast<float>(keys));
  if (state.size() == 0) return;
  for (std::int64_t row = 0; row < y.dims()[0] * steps; ++row) {
    for (std::int64_t head = 0; head < heads.of_kv; ++head) {
      const auto at = static_cast<std::size_t>(row / steps * heads.of_kv + head);
      const auto size = static_cast<std::size_t>(keys * values);
      const Step step{.k = Part(*inputs[kK], row * heads.of_kv + head, keys),
                      .v = Part(*inputs[kV], row * heads.of_kv + head, values),
                      .state = state.MutableValues<float>().subspan(at * size, size)};
      if (const Tensor* decay = InputAt(inputs, kDecay)) {
        const PerHead rate(*decay, heads.of_kv);
        for (std::int64_t i = 0; i < keys * values; ++i) {
          step.state[static_cast<std::size_t>(i)] *= std::exp(rate.At(row, head, i / values, keys));
        }
      }
      const Tensor* beta = InputAt(inputs, kBeta);
      const float rate = beta == nullptr ? 0.0F : PerHead(*beta, heads.of_kv).At(row, head, 0, 0);
      Write(step, beta == nullptr ? nullptr : &rate);
      for (std::int64_t q = head * group; q < (head + 1) * group; ++q) {
        const auto out = y.MutableValues<float>().subspan(
            static_cast<std::size_t>((row * heads.of_q + q) * values),
            static_cast<std::size_t>(values));
        AddRead(step.state, Part(*inputs[kQ], row * heads.of_q + q, keys), out);
        for (float& value : out) value *= scale;
      }
    }
  }
}

std::vector<Tensor> EvalLinearAttention(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLinearAttention, node, inputs);
  std::vector<Tensor> wide(inputs.size());
  std::vector<const Tensor*> in_f32(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    wide[i] = ToF32(*inputs[i]);
    in_f32[i] = &wide[i];
  }
  Tensor y(DType::kF32, outputs[0].dims());
  Tensor state =
      InputAt(inputs, kPast) != nullptr ? wide[kPast] : Tensor(DType::kF32, outputs[1].dims());
  Attend(node, in_f32, y, state);
  return {FromF32(y, outputs[0].dtype()), FromF32(state, outputs[1].dtype())};
}

/// Counts reading and writing the state, in each step for each head.
double Flops(const Node& node, std::span<const ValueType> /*in*/, std::span<const ValueType> out) {
  const auto heads_of_q = static_cast<double>(HeadsOf(node).of_q);
  const auto& y = out[0].shape;
  const auto& state = out[1].shape;
  if (!y || !state || !StaticDims(*y) || !StaticDims(*state)) return 0.0;
  const auto steps = static_cast<double>((*y)[1].size());
  const double each = ElementsOf(out[1]);  // of all heads and samples
  const auto heads = static_cast<double>((*state)[1].size());
  return steps * each * (3.0 + 2.0 * heads_of_q / heads);
}

}  // namespace

void RegisterLinearAttentionOps(OpRegistry& ops) {
  ops.Add({.name = "LinearAttention",
           .inputs = {3, 6},
           .min_outputs = 2,
           .max_outputs = 2,
           .attrs = {{.name = "q_num_heads", .otherwise = std::int64_t{0}, .required = true},
                     {.name = "kv_num_heads", .otherwise = std::int64_t{0}, .required = true},
                     {.name = "scale", .otherwise = 0.0F},
                     {.name = "update_rule", .otherwise = std::string("gated_delta")},
                     {.name = "chunk_size", .otherwise = std::int64_t{64}}},
           .infer = InferLinearAttention,
           .eval = EvalLinearAttention,
           .flops = Flops});
}

}  // namespace msc
