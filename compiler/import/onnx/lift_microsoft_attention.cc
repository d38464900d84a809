#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift_microsoft.h"
#include "compiler/import/onnx/steps.h"

// ONNX Runtime's attention, as projections, products, an added mask and a softmax. FuseOps makes
// msc.Attention of these. Source: schemas and CPU kernels of ONNX Runtime 1.31, domain
// com.microsoft.

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kOnnxI64 = 7;  // TensorProto.INT64

/// Returns a size of an input, or nothing if it is open.
std::optional<std::int64_t> SizeOf(const Lift& lift, std::size_t input, std::size_t axis) {
  const ValueType type = lift.InputType(input);
  if (!type.shape || axis >= type.shape->size() || !(*type.shape)[axis].known()) {
    return std::nullopt;
  }
  return (*type.shape)[axis].size();
}

/// Returns the number of axes of an input; rejects one where it is unknown.
std::size_t RankOf(const Lift& lift, std::size_t input) {
  const ValueType type = lift.InputType(input);
  if (!type.shape) {
    lift.Reject("needs to know the number of axes of input " + std::to_string(input));
  }
  return type.shape->size();
}

/// Attributes that both operators have.
struct Attributes {
  std::int64_t heads = 0;
  float scale = 0;   ///< 0 = by the depth
  float filter = 0;  ///< what a masked score is lowered by
  bool causal = false;
};

Attributes TakeAttributes(Lift& lift) {
  constexpr float kFilter = -10000;
  const Attributes taken = {.heads = lift.Take("num_heads", std::int64_t{0}),
                            .scale = lift.Take("scale", 0.0F),
                            .filter = lift.Take("mask_filter_value", kFilter),
                            .causal = lift.Take("unidirectional", std::int64_t{0}) != 0};
  if (taken.heads < 1) lift.Reject("needs num_heads");
  return taken;
}

/// What a mask of one axis holds for each sequence of the batch.
enum class Bounds { kEnds, kEndsAndStarts };

/// Adds what both operators do. Queries, keys and values have four axes: batch, heads, tokens,
/// depth. Input 0 of the node has the batch and the tokens of the queries as its first axes.
class AttentionSteps {
 public:
  AttentionSteps(Lift& lift, const Attributes& attributes)
      : lift_(lift), steps_(lift), attributes_(attributes), dtype_(lift.InputType(0).dtype) {}

  /// Returns [batch, tokens, heads * depth] with four axes.
  std::string WithHeads(const std::string& name, const char* what) {
    const std::string split =
        steps_.Add("Reshape", {name, steps_.List({0, 0, attributes_.heads, -1}, "heads")}, what);
    return steps_.Add("Transpose", {split}, what, {{"perm", Ints{0, 2, 1, 3}}});
  }

  /// Returns keys or values behind those of the past, if there are any.
  std::string Behind(const std::string& past, const std::string& now, const char* what) {
    if (past.empty()) return now;
    return steps_.Add("Concat", {past, now}, what, {{"axis", std::int64_t{2}}});
  }

  /// Reads the mask of input `index`, if it is there, for these keys. `past` are keys before those
  /// of the queries' tokens, or empty.
  void ReadMasks(std::size_t index, const std::string& q, const std::string& keys,
                 const std::string& past) {
    if (lift_.HasInput(index)) {
      const std::string allowed = Padding(index, keys);
      mask_ = steps_.Add(
          "Where", {allowed, Number(0, "zero"), Number(attributes_.filter, "filter")}, "padding");
    }
    // A single query sees all keys, whatever their number.
    if (!attributes_.causal || SizeOf(lift_, 0, 1) == 1) return;
    std::string query = steps_.Add(
        "Unsqueeze", {UpTo(Tokens(q, "queries"), "query"), steps_.List({1}, "column")}, "query");
    if (!past.empty()) query = steps_.Add("Add", {query, Tokens(past, "past")}, "position");
    const std::string key = UpTo(Tokens(keys, "keys"), "key");
    const std::string allowed = steps_.Add("LessOrEqual", {key, query}, "causal");
    const std::string seen = mask_.empty() ? Number(0, "zero") : mask_;
    mask_ = steps_.Add("Where", {allowed, seen, Number(Lowest(), "lowest")}, "mask");
  }

  /// Makes the node the attention, whose heads are joined. `bias` is added to the scores, or empty.
  void End(const std::string& q, const std::string& k, const std::string& v,
           const std::string& bias, std::optional<std::int64_t> depth) {
    double scale = attributes_.scale;
    if (scale == 0) {
      if (!depth || *depth < 1) lift_.Reject("needs a scale, or a known size of a head");
      scale = 1 / std::sqrt(static_cast<double>(*depth));
    }
    const std::string turned =
        steps_.Add("Transpose", {k}, "k_turned", {{"perm", Ints{0, 1, 3, 2}}});
    const std::string product = steps_.Add("MatMul", {q, turned}, "product");
    std::string scores = steps_.Add("Mul", {product, Number(scale, "scale")}, "scaled");
    if (!bias.empty()) scores = steps_.Add("Add", {scores, bias}, "biased");
    if (!mask_.empty()) scores = steps_.Add("Add", {scores, mask_}, "masked");
    const std::string shares =
        steps_.Add("Softmax", {scores}, "softmax", {{"axis", std::int64_t{-1}}});
    const std::string sum = steps_.Add("MatMul", {shares, v}, "sum");
    const std::string tokens =
        steps_.Add("Transpose", {sum}, "tokens", {{"perm", Ints{0, 2, 1, 3}}});
    steps_.End("Reshape", {tokens, steps_.List({0, 0, -1}, "joined")});
  }

  Steps& steps() { return steps_; }

 private:
  std::string Number(double value, const char* what) { return steps_.Number(value, dtype_, what); }
  [[nodiscard]] double Lowest() const {
    constexpr double kLowestF16 = -65504;
    return dtype_ == DType::kF16 ? kLowestF16
                                 : static_cast<double>(std::numeric_limits<float>::lowest());
  }
  std::string Integer(std::int64_t value) {
    return steps_.Constant(
        Tensor::From<std::int64_t>(DType::kI64, {}, std::span<const std::int64_t>(&value, 1)),
        "integer");
  }
  /// Returns the number of tokens of a value with four axes, a scalar.
  std::string Tokens(const std::string& name, const char* what) {
    const std::string shape = steps_.Add("Shape", {name}, what);
    return steps_.Add("Gather", {shape, Integer(2)}, what, {{"axis", std::int64_t{0}}});
  }
  std::string UpTo(const std::string& count, const char* what) {
    return steps_.Add("Range", {Integer(0), count, Integer(1)}, what);
  }

  /// Returns which of the keys are no padding, a boolean that broadcasts to the scores.
  std::string Padding(std::size_t index, const std::string& keys) {
    const std::string& mask = lift_.Input(index);
    const std::size_t rank = RankOf(lift_, index);
    if (rank == 1) return WithinBounds(index, keys);
    if (rank > 3) lift_.Reject("a mask with four axes is not supported");
    const Ints axes = rank == 2 ? Ints{1, 2} : Ints{1};  // of heads, and of queries
    const std::string spread =
        steps_.Add("Unsqueeze", {mask, steps_.List(axes, "axes")}, "raw_mask");
    const std::array<std::int32_t, 1> zero = {0};
    const std::string none =
        steps_.Constant(Tensor::From<std::int32_t>(DType::kI32, {}, zero), "masked_out");
    return steps_.Add("Greater", {spread, none}, "not_padding");
  }

  /// As Padding, for a mask with the ends of the sequences, and perhaps their starts.
  std::string WithinBounds(std::size_t index, const std::string& keys) {
    const Bounds bounds = BoundsOf(index);
    const std::string wide = steps_.Add("Cast", {lift_.Input(index)}, "bounds", {{"to", kOnnxI64}});
    std::vector<std::string> parts = {wide};
    if (bounds == Bounds::kEndsAndStarts) {
      parts = steps_.AddSeveral("Split", {wide}, "bound", 2, {{"axis", std::int64_t{0}}});
    }
    for (std::string& part : parts) {
      part = steps_.Add("Unsqueeze", {part, steps_.List({1, 2, 3}, "axes")}, "spread");
    }
    const std::string key = UpTo(Tokens(keys, "keys"), "key");
    std::string before = steps_.Add("Less", {key, parts[0]}, "before_end");
    if (parts.size() == 1) return before;
    const std::string behind = steps_.Add("GreaterOrEqual", {key, parts[1]}, "behind_start");
    return steps_.Add("And", {before, behind}, "within");
  }

  [[nodiscard]] Bounds BoundsOf(std::size_t index) const {
    const ValueType type = lift_.InputType(0);
    const Dim count = lift_.InputType(index).shape->front();
    const Dim batch = type.shape && !type.shape->empty() ? type.shape->front() : Dim();
    const bool same = count == batch && (count.known() || !count.symbol().empty());
    if (same) return Bounds::kEnds;
    const bool twice = count.known() && batch.known() && count.size() == 2 * batch.size();
    if (!twice || lift_.node.op != "Attention") {
      lift_.Reject("a mask with one axis must have an end for each sequence of the batch" +
                   std::string(lift_.node.op == "Attention" ? ", or an end and a start" : ""));
    }
    return Bounds::kEndsAndStarts;
  }

  Lift& lift_;
  Steps steps_;
  Attributes attributes_;
  DType dtype_ = DType::kUndefined;
  std::string mask_;  ///< added to the scores; empty if there is none
};

/// Returns the sizes of the queries, keys and values that the weights make of a token.
Ints ProjectedSizes(Lift& lift) {
  Ints sizes = lift.Take("qkv_hidden_sizes", Ints{});
  if (sizes.empty()) {
    const auto all = SizeOf(lift, 1, 1);
    if (!all) lift.Reject("needs weights of a known shape");
    sizes.assign(3, *all / 3);
  }
  if (sizes.size() != 3) lift.Reject("needs three qkv_hidden_sizes");
  return sizes;
}

/// Expands Attention of com.microsoft: self-attention whose weights make queries, keys and values.
void LiftSelfAttention(Lift& lift) {
  enum Input : std::size_t { kX, kWeights, kBias, kMask, kPast, kScoreBias };
  const Attributes attributes = TakeAttributes(lift);
  const Ints sizes = ProjectedSizes(lift);
  if (lift.Take("do_rotary", std::int64_t{0}) != 0) lift.Reject("do_rotary is not supported");
  (void)lift.Take("rotary_embedding_dim", std::int64_t{0});
  if (lift.Take("past_present_share_buffer", std::int64_t{0}) != 0) {
    lift.Reject("past_present_share_buffer is not supported");
  }
  RejectRest(lift, kScoreBias + 1, 2);
  AttentionSteps attention(lift, attributes);
  Steps& steps = attention.steps();
  std::string all = steps.Add("MatMul", {lift.Input(kX), lift.Input(kWeights)}, "projected");
  if (lift.HasInput(kBias)) all = steps.Add("Add", {all, lift.Input(kBias)}, "with_bias");
  const auto parts = steps.AddSeveral("Split", {all, steps.List(sizes, "sizes")}, "part", 3,
                                      {{"axis", std::int64_t{2}}});
  const std::string q = attention.WithHeads(parts[0], "q");
  std::array<std::string, 2> past;
  std::array<std::string, 2> whole;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const char* const what = i == 0 ? "k" : "v";
    if (lift.HasInput(kPast)) {
      const std::string which = steps.List({static_cast<std::int64_t>(i)}, "which");
      const std::string one =
          steps.Add("Gather", {lift.Input(kPast), which}, "past", {{"axis", std::int64_t{0}}});
      past[i] = steps.Add("Squeeze", {one, steps.List({0}, "axis")}, "past");
    }
    whole[i] = attention.Behind(past[i], attention.WithHeads(parts[i + 1], what), what);
  }
  if (lift.IsRead(1)) {
    std::vector<std::string> states = {whole.begin(), whole.end()};
    for (std::string& state : states) {
      state = steps.Add("Unsqueeze", {state, steps.List({0}, "axis")}, "state");
    }
    steps.EndOutput(lift.node.outputs[1], "Concat", states, "present", {{"axis", std::int64_t{0}}});
  }
  attention.ReadMasks(kMask, q, whole[0], past[0]);
  const std::string bias = lift.HasInput(kScoreBias) ? lift.Input(kScoreBias) : std::string();
  attention.End(q, whole[0], whole[1], bias, sizes[0] / attributes.heads);
}

/// Returns the parts of a bias for queries, keys and values; empty names without a bias.
std::vector<std::string> SplitBias(Lift& lift, Steps& steps, std::size_t index) {
  if (!lift.HasInput(index)) return std::vector<std::string>(3);
  Ints sizes;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto size = RankOf(lift, i) == 3 ? SizeOf(lift, i, 2) : std::nullopt;
    if (!size) lift.Reject("a bias needs queries, keys and values with three axes and known sizes");
    sizes.push_back(*size);
  }
  return steps.AddSeveral("Split", {lift.Input(index), steps.List(sizes, "sizes")}, "bias", 3,
                          {{"axis", std::int64_t{0}}});
}

/// Expands MultiHeadAttention: attention with queries, keys and values that are there already.
void LiftMultiHeadAttention(Lift& lift) {
  enum Input : std::size_t { kQ, kK, kV, kBias, kMask, kScoreBias, kPastKey, kPastValue };
  const Attributes attributes = TakeAttributes(lift);
  RejectRest(lift, kPastValue + 1, 3);
  if (!lift.HasInput(kK) || !lift.HasInput(kV) || RankOf(lift, kQ) != 3) {
    lift.Reject("queries, keys and values in one tensor are not supported");
  }
  if (lift.HasInput(kPastKey) != lift.HasInput(kPastValue)) {
    lift.Reject("needs keys and values of the past, or neither");
  }
  AttentionSteps attention(lift, attributes);
  Steps& steps = attention.steps();
  const std::vector<std::string> bias = SplitBias(lift, steps, kBias);
  constexpr std::array<const char*, 3> kNames = {"q", "k", "v"};
  std::array<std::string, 3> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t rank = RankOf(lift, i);
    if (rank != 3 && rank != 4) lift.Reject("needs keys and values with three or four axes");
    parts[i] = lift.Input(i);
    if (!bias[i].empty()) parts[i] = steps.Add("Add", {parts[i], bias[i]}, "biased");
    // With four axes, heads are in front of tokens already.
    if (rank == 3) parts[i] = attention.WithHeads(parts[i], kNames[i]);
  }
  const std::string past_key = lift.HasInput(kPastKey) ? lift.Input(kPastKey) : std::string();
  const std::string past_value = lift.HasInput(kPastValue) ? lift.Input(kPastValue) : std::string();
  const std::string k = attention.Behind(past_key, parts[1], "k");
  const std::string v = attention.Behind(past_value, parts[2], "v");
  if (lift.IsRead(1)) steps.EndOutput(lift.node.outputs[1], "Identity", {k}, "present_key");
  if (lift.IsRead(2)) steps.EndOutput(lift.node.outputs[2], "Identity", {v}, "present_value");
  attention.ReadMasks(kMask, parts[0], k, past_key);
  auto depth = SizeOf(lift, kQ, 2);
  if (depth) depth = *depth / attributes.heads;
  const std::string score_bias = lift.HasInput(kScoreBias) ? lift.Input(kScoreBias) : std::string();
  attention.End(parts[0], k, v, score_bias, depth);
}

constexpr std::array<LiftRule, 2> kRules = {{
    {"Attention", kNoEnd, LiftSelfAttention, 1, kMicrosoftDomain},
    {"MultiHeadAttention", kNoEnd, LiftMultiHeadAttention, 1, kMicrosoftDomain},
}};

}  // namespace

std::span<const LiftRule> MicrosoftAttentionLifts() {
  return kRules;
}

}  // namespace msc::detail
