#include "compiler/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// msc.Attention; attention.h defines it.

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

Ints ReadPerm(const Node& node, const char* name, std::size_t rank) {
  Ints perm = AttrOr(node, name, Ints{});
  if (perm.empty()) {
    perm.resize(rank);
    std::iota(perm.begin(), perm.end(), std::int64_t{0});
  }
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool complete = perm.size() == rank;
  for (std::size_t i = 0; complete && i < rank; ++i) {
    complete = sorted[i] == static_cast<std::int64_t>(i);
  }
  if (!complete) {
    RejectNode(node, "attribute '" + std::string(name) + "' must name every axis once");
  }
  return perm;
}

Shape Permuted(const Shape& shape, const Ints& perm) {
  Shape out;
  for (const std::int64_t axis : perm) out.push_back(shape[static_cast<std::size_t>(axis)]);
  return out;
}

std::vector<ValueType> InferAttention(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, kAttentionQ, {DType::kF32, DType::kBF16});
  for (std::size_t i = 1; i < in.types.size(); ++i) {
    if (HasInput(in, i)) RequireSameType(in, kAttentionQ, i);
  }
  const Shape* given[] = {ShapeOf(in, kAttentionQ), ShapeOf(in, kAttentionK),  // NOLINT
                          ShapeOf(in, kAttentionV)};
  for (const Shape* shape : given) {
    if (shape == nullptr) return OneOutput(TypeOf(in, kAttentionQ), std::nullopt);
  }
  const std::size_t rank = given[0]->size();
  if (rank < 2 || given[1]->size() != rank || given[2]->size() != rank) {
    RejectNode(node, "Q, K and V must have equally many dimensions, at least 2");
  }
  const AttentionAttrs attrs = ReadAttentionAttrs(node, rank);
  const Shape q = Permuted(*given[0], attrs.q_perm);
  const Shape k = Permuted(*given[1], attrs.k_perm);
  const Shape v = Permuted(*given[2], attrs.v_perm);
  Shape scores(rank);
  Shape y(rank);
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    scores[i] = y[i] = MergeDims(node, q[i], MergeDims(node, k[i], v[i]));
  }
  (void)MergeDims(node, q[rank - 1], k[rank - 1]);
  scores[rank - 2] = y[rank - 2] = q[rank - 2];
  scores[rank - 1] = MergeDims(node, k[rank - 2], v[rank - 2]);
  y[rank - 1] = v[rank - 1];
  if (const Shape* mask = ShapeOf(in, kAttentionMask); mask != nullptr) {
    const Shape joined = BroadcastShapes(node, scores, *mask);
    const bool stretches =
        joined.size() == rank &&
        std::equal(joined.begin(), joined.end(), scores.begin(), [](const Dim& a, const Dim& b) {
          return !a.known() || !b.known() || a.size() == b.size();
        });
    if (!stretches) {
      RejectNode(node, "the mask " + ToString(*mask) + " does not stretch to " + ToString(scores));
    }
  }
  return OneOutput(TypeOf(in, kAttentionQ), Permuted(y, attrs.y_perm));
}

Tensor Transposed(const Tensor& tensor, const Ints& perm) {
  const Dims strides = StridesOf(tensor.dims());
  StridedRead read;
  for (const std::int64_t axis : perm) {
    read.dims.push_back(tensor.dims()[static_cast<std::size_t>(axis)]);
    read.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return ReadStrided(tensor, read);
}

Ints SwappedLast(Ints perm) {
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

void SoftmaxRow(std::span<float> row, bool zero_nan) {
  // exp of a number of at most 0 cannot overflow, and the factor exp(-greatest) cancels.
  const float greatest = *std::max_element(row.begin(), row.end());
  double sum = 0.0;
  for (float& value : row) {
    value = std::exp(value - greatest);
    sum += static_cast<double>(value);
  }
  // A sum of NaN makes the whole row NaN.
  for (float& value : row) {
    value =
        zero_nan && std::isnan(sum) ? 0.0F : static_cast<float>(static_cast<double>(value) / sum);
  }
}

std::vector<Tensor> EvalAttention(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferAttention, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  const std::size_t rank = inputs[kAttentionQ]->dims().size();
  const AttentionAttrs attrs = ReadAttentionAttrs(node, rank);
  const Tensor q = Transposed(*inputs[kAttentionQ], attrs.q_perm);
  // Swapping the last axes of K makes the first product q * transpose(k).
  const Tensor k = Transposed(*inputs[kAttentionK], SwappedLast(attrs.k_perm));
  const Tensor v = Transposed(*inputs[kAttentionV], attrs.v_perm);
  const MatMulProblem first{
      .m = q.dims()[rank - 2], .k = q.dims()[rank - 1], .n = k.dims()[rank - 1]};
  const MatMulProblem second{.m = first.m, .k = first.n, .n = v.dims()[rank - 1]};
  Dims score_dims(q.dims().begin(), q.dims().end() - 1);
  score_dims.push_back(first.n);
  const std::int64_t batch =
      ElementCount(score_dims) / std::max<std::int64_t>(first.m * first.n, 1);
  Dims made_dims(q.dims().begin(), q.dims().end() - 1);
  made_dims.push_back(second.n);
  Tensor made(DType::kF32, made_dims);
  Tensor mask;
  if (const Tensor* given = InputAt(inputs, kAttentionMask); given != nullptr) {
    mask = ReadStrided(
        *given, {.dims = score_dims, .strides = BroadcastStrides(given->dims(), score_dims)});
  }
  std::vector<float> scores(static_cast<std::size_t>(first.m * first.n));
  for (std::int64_t i = 0; i < batch; ++i) {
    MultiplyMatrices(first, q.Values<float>().data() + i * first.m * first.k,
                     k.Values<float>().data() + i * first.k * first.n, scores.data());
    for (std::size_t e = 0; e < scores.size(); ++e) {
      scores[e] *= attrs.scale;
      if (mask.size() > 0) {
        scores[e] += mask.Values<float>()[static_cast<std::size_t>(i) * scores.size() + e];
      }
    }
    for (std::int64_t row = 0; row < first.m && first.n > 0; ++row) {
      SoftmaxRow(std::span(scores).subspan(static_cast<std::size_t>(row * first.n),
                                           static_cast<std::size_t>(first.n)),
                 attrs.zero_nan);
    }
    MultiplyMatrices(second, scores.data(), v.Values<float>().data() + i * second.k * second.n,
                     made.MutableValues<float>().data() + i * second.m * second.n);
  }
  outputs[0] = Transposed(made, attrs.y_perm);
  return outputs;
}

/// Counts both products, and 13 flops per score as for Softmax.
double AttentionFlops(const Node& node, std::span<const ValueType> in,
                      std::span<const ValueType> out) {
  const auto q = in[kAttentionQ].shape ? StaticDims(*in[kAttentionQ].shape) : std::nullopt;
  const auto k = in[kAttentionK].shape ? StaticDims(*in[kAttentionK].shape) : std::nullopt;
  if (!q || !k || q->size() < 2 || k->size() != q->size()) return 0.0;
  const AttentionAttrs attrs = ReadAttentionAttrs(node, q->size());
  const auto keys =
      static_cast<double>((*k)[static_cast<std::size_t>(attrs.k_perm[attrs.k_perm.size() - 2])]);
  const auto depth = static_cast<double>((*q)[static_cast<std::size_t>(attrs.q_perm.back())]);
  const double products = 2.0 * keys * (ElementsOf(in[kAttentionQ]) + ElementsOf(out[0]));
  return products + (depth > 0 ? 13.0 * keys * ElementsOf(in[kAttentionQ]) / depth : 0.0);
}

}  // namespace

AttentionAttrs ReadAttentionAttrs(const Node& node, std::size_t rank) {
  return {.scale = AttrOr(node, "scale", 1.0F),
          .zero_nan = AttrOr(node, "zero_nan", std::int64_t{0}) != 0,
          .q_perm = ReadPerm(node, "q_perm", rank),
          .k_perm = ReadPerm(node, "k_perm", rank),
          .v_perm = ReadPerm(node, "v_perm", rank),
          .y_perm = ReadPerm(node, "y_perm", rank)};
}

void RegisterAttentionOps(OpRegistry& ops) {
  std::vector<AttrSpec> attrs{{.name = "scale", .otherwise = 1.0F},
                              {.name = "zero_nan", .otherwise = std::int64_t{0}}};
  for (const char* name : {"q_perm", "k_perm", "v_perm", "y_perm"}) {
    attrs.push_back({.name = name, .otherwise = Ints{}});
  }
  ops.Add({.name = "Attention",
           .domain = "msc",
           .inputs = {3, 4},
           .attrs = std::move(attrs),
           .infer = InferAttention,
           .eval = ViaF32(EvalAttention),
           .flops = AttentionFlops});
}

}  // namespace msc
