#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

// Attention-23 to -25, as products, a softmax and masks. FuseOps makes msc.Attention of what has no
// mask but one that is added.

namespace msc::detail {
namespace {

enum Input : std::size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kKeysInUse };
enum Output : std::size_t { kY, kPresentKey, kPresentValue, kScores };
/// What the output of scores holds.
enum Scores : std::int64_t { kProduct, kCapped, kMasked, kProbabilities };

struct Attributes {
  bool causal = false;
  std::int64_t query_heads = 0;  ///< 0 = those of an input with four axes
  std::int64_t key_heads = 0;
  float scale = 0;  ///< 0 = by the depth
  float cap = 0;    ///< 0 = none
  std::int64_t scores = kProduct;
  std::int64_t softmax_type = 0;  ///< element type of ONNX; 0 = that of Q
  std::int64_t left = -1;         ///< keys before a query that it sees; -1 = all
  std::int64_t right = -1;
};

Attributes TakeAttributes(Lift& lift) {
  return {.causal = lift.Take("is_causal", std::int64_t{0}) != 0,
          .query_heads = lift.Take("q_num_heads", std::int64_t{0}),
          .key_heads = lift.Take("kv_num_heads", std::int64_t{0}),
          .scale = lift.Take("scale", 0.0F),
          .cap = lift.Take("softcap", 0.0F),
          .scores = lift.Take("qk_matmul_output_mode", std::int64_t{kProduct}),
          .softmax_type = lift.Take("softmax_precision", std::int64_t{0}),
          .left = lift.Take("left_window_size", std::int64_t{-1}),
          .right = lift.Take("right_window_size", std::int64_t{-1})};
}

/// Writes one Attention as steps. q, k and v have four axes: batch, heads, tokens, depth.
class Expansion {
 public:
  explicit Expansion(Lift& lift) : lift_(lift), steps_(lift), attributes_(TakeAttributes(lift)) {
    for (const Input input : {kQ, kK, kV}) {
      if (!lift.HasInput(input)) lift.Reject("needs Q, K and V");
    }
    dtype_ = lift.InputType(kQ).dtype;
    outputs_ = lift.node.outputs;
    outputs_.resize(kScores + 1);
  }

  void Run() {
    const std::string q = WithHeads(kQ, attributes_.query_heads, "q");
    std::string k = Whole(kK, kPastKey, kPresentKey, "k");
    std::string v = Whole(kV, kPastValue, kPresentValue, "v");
    const std::string keys = k;  // before heads are repeated
    k = Repeated(k, kK, "k_repeated");
    v = Repeated(v, kV, "v_repeated");
    std::string scores = Scaled(q, k);
    Tell(kProduct, scores);
    if (attributes_.cap > 0) {
      const std::string cap = Number(attributes_.cap, "cap");
      const std::string share = steps_.Add("Div", {scores, cap}, "share");
      scores = steps_.Add("Mul", {steps_.Add("Tanh", {share}, "tanh"), cap}, "capped");
    }
    Tell(kCapped, scores);
    const std::string allowed = Allowed(q, keys);
    const bool added = HasMask() && !IsBoolean();
    if (added) scores = steps_.Add("Add", {scores, lift_.node.inputs[kMask]}, "with_mask");
    if (!allowed.empty()) {
      const std::string bias =
          steps_.Add("Where", {allowed, Number(0, "zero"), Number(Lowest(), "lowest")}, "bias");
      scores = steps_.Add("Add", {scores, bias}, "masked");
    }
    Tell(kMasked, scores);
    const bool widened = attributes_.softmax_type != 0;
    if (widened) scores = steps_.Add("Cast", {scores}, "wide", {{"to", attributes_.softmax_type}});
    std::string shares = steps_.Add("Softmax", {scores}, "softmax", {{"axis", std::int64_t{-1}}});
    if (widened) shares = steps_.Add("CastLike", {shares, lift_.node.inputs[kQ]}, "narrow");
    // A query that sees no key gives zeros. With a causal mask alone, it sees the first.
    if (!allowed.empty() && (IsBoolean() || IsWindow() || lift_.HasInput(kKeysInUse))) {
      shares = steps_.Add("Where", {allowed, shares, Number(0, "nothing")}, "seen");
    }
    Tell(kProbabilities, shares);
    const std::string y = steps_.Add("MatMul", {shares, v}, "sum");
    if (RankOf(kQ) == 4) {
      steps_.End("Identity", {y});
      return;
    }
    const std::string tokens =
        steps_.Add("Transpose", {y}, "tokens", {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    steps_.End("Reshape", {tokens, steps_.List({0, 0, -1}, "joined")});
  }

 private:
  std::string Number(double value, const char* what) { return steps_.Number(value, dtype_, what); }
  [[nodiscard]] double Lowest() const {
    constexpr double kLowestF16 = -65504;
    return dtype_ == DType::kF16 ? kLowestF16
                                 : static_cast<double>(std::numeric_limits<float>::lowest());
  }
  [[nodiscard]] bool HasMask() const { return lift_.HasInput(kMask); }
  [[nodiscard]] bool IsBoolean() const {
    return HasMask() && lift_.InputType(kMask).dtype == DType::kBool;
  }
  [[nodiscard]] bool IsWindow() const { return attributes_.left >= 0 || attributes_.right >= 0; }

  [[nodiscard]] std::size_t RankOf(std::size_t input) const {
    const ValueType type = lift_.InputType(input);
    if (!type.shape || (type.shape->size() != 3 && type.shape->size() != 4)) {
      lift_.Reject("needs Q, K and V with three or four axes");
    }
    return type.shape->size();
  }
  /// Returns a size of an input, or nothing if it is open.
  [[nodiscard]] std::optional<std::int64_t> SizeOf(std::size_t input, std::size_t axis) const {
    const ValueType type = lift_.InputType(input);
    if (!type.shape || axis >= type.shape->size()) return std::nullopt;
    const Dim& dim = (*type.shape)[axis];
    return dim.known() ? std::optional(dim.size()) : std::nullopt;
  }
  /// Returns the number of heads of an input, or nothing if it is open.
  [[nodiscard]] std::optional<std::int64_t> HeadsOf(std::size_t input) const {
    if (RankOf(input) == 4) return SizeOf(input, 1);
    const std::int64_t heads = input == kQ ? attributes_.query_heads : attributes_.key_heads;
    if (heads < 1) lift_.Reject("needs q_num_heads and kv_num_heads with three axes");
    return heads;
  }
  /// Returns the depth of a head, or nothing if it is open.
  [[nodiscard]] std::optional<std::int64_t> DepthOf(std::size_t input) const {
    const std::size_t rank = RankOf(input);
    const auto size = SizeOf(input, rank - 1);
    if (!size || rank == 4) return size;
    return *size / *HeadsOf(input);
  }

  /// Returns an input with four axes.
  std::string WithHeads(std::size_t input, std::int64_t heads, const char* what) {
    const std::string& name = lift_.node.inputs[input];
    if (RankOf(input) == 4) return name;
    static_cast<void>(HeadsOf(input));
    const std::string split =
        steps_.Add("Reshape", {name, steps_.List({0, 0, heads, -1}, "heads")}, what);
    return steps_.Add("Transpose", {split}, what,
                      {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  }

  /// Returns keys or values behind those of the past, and makes the output of all.
  std::string Whole(std::size_t input, std::size_t past, std::size_t present, const char* what) {
    std::string whole = WithHeads(input, attributes_.key_heads, what);
    if (lift_.HasInput(past)) {
      whole =
          steps_.Add("Concat", {lift_.node.inputs[past], whole}, what, {{"axis", std::int64_t{2}}});
    }
    if (lift_.IsRead(present)) steps_.EndOutput(outputs_[present], "Identity", {whole}, "present");
    return whole;
  }

  /// Returns keys or values with each head repeated for the heads of the queries that share it.
  std::string Repeated(const std::string& name, std::size_t input, const char* what) {
    const auto queries = HeadsOf(kQ);
    const auto own = HeadsOf(input);
    if (queries == own) return name;
    const auto depth = DepthOf(input);
    constexpr std::int64_t kMostCopies = 1024;
    if (!queries || !own || !depth || *own < 1 || *queries % *own != 0 ||
        *queries / *own > kMostCopies) {
      lift_.Reject("needs numbers of heads that divide each other, and a known depth");
    }
    const std::string one = steps_.Add("Unsqueeze", {name, steps_.List({2}, "axis")}, what);
    const std::vector<std::string> copies(static_cast<std::size_t>(*queries / *own), one);
    const std::string several = steps_.Add("Concat", copies, what, {{"axis", std::int64_t{2}}});
    return steps_.Add("Reshape", {several, steps_.List({0, *queries, -1, *depth}, "shape")}, what);
  }

  std::string Scaled(const std::string& q, const std::string& k) {
    double scale = attributes_.scale;
    if (scale == 0) {
      const auto depth = DepthOf(kQ);
      if (!depth) lift_.Reject("needs a scale, or a known depth of Q");
      scale = 1 / std::sqrt(static_cast<double>(*depth));
    }
    const std::string turned =
        steps_.Add("Transpose", {k}, "k_turned", {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
    const std::string product = steps_.Add("MatMul", {q, turned}, "product");
    return steps_.Add("Mul", {product, Number(scale, "scale")}, "scaled");
  }

  /// Returns the number of tokens of a value with four axes, a scalar.
  std::string Tokens(const std::string& name, const char* what) {
    const std::string shape = steps_.Add("Shape", {name}, what);
    return steps_.Add("Gather", {shape, Integer(2)}, what, {{"axis", std::int64_t{0}}});
  }
  std::string Integer(std::int64_t value) {
    return steps_.Constant(
        Tensor::From<std::int64_t>(DType::kI64, {}, std::span<const std::int64_t>(&value, 1)),
        "integer");
  }
  std::string UpTo(const std::string& count, const char* what) {
    return steps_.Add("Range", {Integer(0), count, Integer(1)}, what);
  }

  /// Returns which keys a query may see, a boolean that broadcasts to the scores; empty if all.
  std::string Allowed(const std::string& q, const std::string& keys) {
    std::string allowed = IsBoolean() ? lift_.node.inputs[kMask] : std::string();
    const auto also = [&](const std::string& more) {
      allowed = allowed.empty() ? more : steps_.Add("And", {allowed, more}, "both");
    };
    const bool in_use = lift_.HasInput(kKeysInUse);
    if (!attributes_.causal && !IsWindow() && !in_use) return allowed;
    const std::string key = UpTo(Tokens(keys, "keys"), "key");
    const std::string used =
        in_use ? steps_.Add("Unsqueeze",
                            {lift_.node.inputs[kKeysInUse], steps_.List({1, 2, 3}, "axes")}, "used")
               : std::string();
    if (in_use) also(steps_.Add("Less", {key, used}, "in_use"));
    if (!attributes_.causal && !IsWindow()) return allowed;
    const std::string queries = Tokens(q, "queries");
    std::string query =
        steps_.Add("Unsqueeze", {UpTo(queries, "query"), steps_.List({1}, "column")}, "query");
    if (lift_.HasInput(kPastKey)) {
      query = steps_.Add("Add", {query, Tokens(lift_.node.inputs[kPastKey], "past")}, "position");
    } else if (in_use) {
      query = steps_.Add("Add", {query, steps_.Add("Sub", {used, queries}, "offset")}, "position");
    }
    if (attributes_.causal) also(steps_.Add("LessOrEqual", {key, query}, "causal"));
    if (attributes_.left >= 0) {
      const std::string first = steps_.Add("Sub", {query, Integer(attributes_.left)}, "first");
      also(steps_.Add("GreaterOrEqual", {key, first}, "not_before"));
    }
    if (attributes_.right >= 0) {
      const std::string last = steps_.Add("Add", {query, Integer(attributes_.right)}, "last");
      also(steps_.Add("LessOrEqual", {key, last}, "not_behind"));
    }
    return allowed;
  }

  /// Makes the output of scores if it is `kind`.
  void Tell(Scores kind, const std::string& scores) {
    if (attributes_.scores != kind || !lift_.IsRead(kScores)) return;
    steps_.EndOutput(outputs_[kScores], "Identity", {scores}, "scores");
  }

  Lift& lift_;
  Steps steps_;
  Attributes attributes_;
  DType dtype_ = DType::kUndefined;
  std::vector<std::string> outputs_;  ///< names of all, empty where there is none
};

void LiftAttention(Lift& lift) {
  Expansion(lift).Run();
}

constexpr std::array<LiftRule, 1> kRules = {{{"Attention", kNoEnd, LiftAttention, 23}}};

}  // namespace

std::span<const LiftRule> AttentionLifts() {
  return kRules;
}

}  // namespace msc::detail
