#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// TfIdfVectorizer (tokens [C] or [N,C]) -> f32 [entries] or [N,entries]: how often each n-gram of
// its list occurs in a row. Source: ONNX operator page TfIdfVectorizer-9.

namespace msc {
namespace {

using Gram = std::vector<std::string>;

/// The n-grams that are counted.
struct Vocabulary {
  /// Entry of the output by n-gram; no entry for a mere beginning of others.
  std::map<Gram, std::optional<std::size_t>> entries;
  std::size_t outputs = 0;
};

/// Tokens as text: integers in digits, which makes equal numbers equal texts.
std::vector<std::string> PoolOf(const Node& node) {
  std::vector<std::string> pool = AttrOr(node, "pool_strings", std::vector<std::string>());
  if (!pool.empty()) return pool;
  for (const std::int64_t token : AttrOr(node, "pool_int64s", std::vector<std::int64_t>())) {
    pool.push_back(std::to_string(token));
  }
  return pool;
}

std::size_t OutputsOf(const Node& node) {
  const auto indexes = AttrOr(node, "ngram_indexes", std::vector<std::int64_t>());
  std::int64_t most = -1;
  for (const std::int64_t index : indexes) {
    if (index < 0 || index >= (std::int64_t{1} << 31U)) {
      RejectNode(node, "has the index " + std::to_string(index));
    }
    most = std::max(most, index);
  }
  if (most < 0) RejectNode(node, "has no indexes");
  return static_cast<std::size_t>(most) + 1;
}

Vocabulary VocabularyOf(const Node& node) {
  const std::vector<std::string> pool = PoolOf(node);
  const auto starts = AttrOr(node, "ngram_counts", std::vector<std::int64_t>());
  const auto indexes = AttrOr(node, "ngram_indexes", std::vector<std::int64_t>());
  Vocabulary words{.entries = {}, .outputs = OutputsOf(node)};
  std::size_t next = 0;
  for (std::size_t size = 1; size <= starts.size(); ++size) {
    const std::int64_t end = size < starts.size() ? starts[size] : std::ssize(pool);
    const std::int64_t begin = starts[size - 1];
    if (begin < 0 || begin > end || end > std::ssize(pool) ||
        (end - begin) % static_cast<std::int64_t>(size) != 0) {
      RejectNode(node, "'ngram_counts' does not fit its list of tokens");
    }
    for (auto at = static_cast<std::size_t>(begin); at < static_cast<std::size_t>(end);
         at += size) {
      if (next >= indexes.size()) RejectNode(node, "has more n-grams than indexes");
      Gram gram;
      for (std::size_t i = 0; i < size; ++i) {
        gram.push_back(pool[at + i]);
        words.entries.try_emplace(gram);
      }
      words.entries[gram] = static_cast<std::size_t>(indexes[next++]);
    }
  }
  return words;
}

std::vector<ValueType> InferTfIdf(const InferInput& in) {
  RequireType(in, 0, {DType::kString, DType::kI32, DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(DType::kF32, std::nullopt);
  if (x->empty() || x->size() > 2) RejectNode(*in.node, "takes tokens of shape [C] or [N,C]");
  Shape y = *x;
  y.back() = static_cast<std::int64_t>(OutputsOf(*in.node));
  return OneOutput(DType::kF32, y);
}

std::vector<std::string> TokensOf(const Tensor& x) {
  if (x.dtype() == DType::kString) return x.strings();
  std::vector<std::string> tokens;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    tokens.push_back(std::to_string(x.dtype() == DType::kI32 ? x.Values<std::int32_t>()[at]
                                                             : x.Values<std::int64_t>()[at]));
  }
  return tokens;
}

/// Lengths of n-grams, and the largest distance between their tokens.
struct GramRange {
  std::size_t least = 1;
  std::size_t most = 1;
  std::size_t distance = 1;
};

GramRange RangeOf(const Node& node) {
  const std::int64_t least = AttrOr(node, "min_gram_length", std::int64_t{1});
  const std::int64_t most = AttrOr(node, "max_gram_length", std::int64_t{1});
  const std::int64_t skips = AttrOr(node, "max_skip_count", std::int64_t{0});
  if (least < 1 || most < least || skips < 0) {
    RejectNode(node, "needs 1 <= min_gram_length <= max_gram_length and max_skip_count >= 0");
  }
  return {.least = static_cast<std::size_t>(least),
          .most = static_cast<std::size_t>(most),
          .distance = static_cast<std::size_t>(skips) + 1};
}

/// Adds the n-grams that begin with one token and have `distance` between tokens.
void CountFrom(std::span<const std::string> row, std::size_t first, std::size_t distance,
               const GramRange& range, const Vocabulary& words, std::span<float> counts) {
  Gram gram;
  for (std::size_t at = first; at < row.size() && gram.size() < range.most; at += distance) {
    gram.push_back(row[at]);
    const auto it = words.entries.find(gram);
    if (it == words.entries.end()) return;
    if (gram.size() >= range.least && it->second) counts[*it->second] += 1.0F;
  }
}

void CountRow(std::span<const std::string> row, GramRange range, const Vocabulary& words,
              std::span<float> counts) {
  const std::size_t furthest = std::min(range.distance, std::max(row.size(), std::size_t{1}));
  for (std::size_t distance = 1; distance <= furthest; ++distance) {
    for (std::size_t first = 0; first < row.size(); ++first) {
      CountFrom(row, first, distance, range, words, counts);
    }
    // Single tokens have no distance, so they are counted once.
    range.least = std::max<std::size_t>(range.least, 2);
    if (range.least > range.most) return;
  }
}

void Weigh(const Node& node, std::span<float> counts) {
  const std::string mode = AttrOr(node, "mode", std::string());
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    RejectNode(node, "'mode' must be TF, IDF or TFIDF");
  }
  if (mode == "TF") return;
  const auto indexes = AttrOr(node, "ngram_indexes", std::vector<std::int64_t>());
  const auto given = AttrOr(node, "weights", std::vector<float>());
  std::vector<float> weights(counts.size(), 1.0F);
  for (std::size_t i = 0; i < indexes.size() && i < given.size(); ++i) {
    weights[static_cast<std::size_t>(indexes[i])] = given[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const float count = mode == "IDF" ? std::min(counts[i], 1.0F) : counts[i];
    counts[i] = count * weights[i];
  }
}

std::vector<Tensor> EvalTfIdf(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferTfIdf, node, inputs);
  const Vocabulary words = VocabularyOf(node);
  const GramRange range = RangeOf(node);
  const std::vector<std::string> tokens = TokensOf(*inputs[0]);
  const std::span<float> y = outputs[0].MutableValues<float>();
  const auto length = static_cast<std::size_t>(inputs[0]->dims().back());
  for (std::size_t row = 0; row * words.outputs < y.size(); ++row) {
    const std::span<float> counts = y.subspan(row * words.outputs, words.outputs);
    CountRow(std::span(tokens).subspan(row * length, length), range, words, counts);
    Weigh(node, counts);
  }
  return outputs;
}

}  // namespace

void RegisterTfIdfOps(OpRegistry& ops) {
  const std::vector<std::int64_t> integers;
  const std::int64_t zero = 0;
  ops.Add({.name = "TfIdfVectorizer",
           .inputs = {1, 1},
           .attrs = {{.name = "max_gram_length", .otherwise = zero, .required = true},
                     {.name = "max_skip_count", .otherwise = zero, .required = true},
                     {.name = "min_gram_length", .otherwise = zero, .required = true},
                     {.name = "mode", .otherwise = std::string(), .required = true},
                     {.name = "ngram_counts", .otherwise = integers, .required = true},
                     {.name = "ngram_indexes", .otherwise = integers, .required = true},
                     {.name = "pool_int64s", .otherwise = integers},
                     {.name = "pool_strings", .otherwise = std::vector<std::string>()},
                     {.name = "weights", .otherwise = std::vector<float>()}},
           .infer = InferTfIdf,
           .eval = EvalTfIdf});
}

}  // namespace msc
