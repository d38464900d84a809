#include <algorithm>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <cwctype>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/regex.h"
#include "compiler/ops/register.h"

// Source: ONNX operator pages RegexFullMatch-20, StringConcat-20, StringNormalizer-10,
// StringSplit-20.

namespace msc {
namespace {

void RequireStrings(const InferInput& in, std::size_t index) {
  RequireType(in, index, {DType::kString});
}

// StringNormalizer (strings [C] or [1,C]) -> those that are no stop words, in another case

enum class Case : std::uint8_t { kKeep, kLower, kUpper };

Case CaseOf(const Node& node, const char* attr) {
  const std::string name = AttrOr(node, attr, std::string("NONE"));
  if (name == "NONE") return Case::kKeep;
  if (name == "LOWER") return Case::kLower;
  if (name == "UPPER") return Case::kUpper;
  RejectNode(node, std::string("'") + attr + "' must be NONE, LOWER or UPPER");
}

/// The case of letters as Unicode has it; independent of the user's settings.
class CaseTable {
 public:
  CaseTable() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {}
  CaseTable(const CaseTable&) = delete;
  CaseTable& operator=(const CaseTable&) = delete;
  ~CaseTable() {
    if (locale_ != nullptr) freelocale(locale_);
  }
  [[nodiscard]] char32_t To(char32_t letter, Case wanted) const {
    const auto wide = static_cast<std::wint_t>(letter);
    if (locale_ == nullptr) return letter;
    return static_cast<char32_t>(wanted == Case::kLower ? towlower_l(wide, locale_)
                                                        : towupper_l(wide, locale_));
  }

 private:
  locale_t locale_;
};

void Append(char32_t letter, std::string& text) {
  const auto add = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
  if (letter < 0x80U) return add(letter);
  const int more = letter < 0x800U ? 1 : letter < 0x10000U ? 2 : 3;
  constexpr char32_t kLeads[] = {0, 0xC0U, 0xE0U, 0xF0U};  // NOLINT(modernize-avoid-c-arrays)
  add(kLeads[more] | (letter >> static_cast<unsigned>(6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    add(0x80U | ((letter >> static_cast<unsigned>(6 * i)) & 0x3FU));
  }
}

std::string InCase(const std::string& text, Case wanted) {
  static const CaseTable kTable;
  if (wanted == Case::kKeep) return text;
  std::string changed;
  for (std::size_t at = 0; at < text.size();) {
    if (const auto letter = NextCharacter(text, at)) {
      Append(kTable.To(*letter, wanted), changed);
    } else {
      changed.push_back(text[at++]);
    }
  }
  return changed;
}

/// Returns the words that are no stop words, in the case that the node asks for.
std::vector<std::string> NormalWords(const Node& node, const std::vector<std::string>& words) {
  const bool exact = AttrOr(node, "is_case_sensitive", std::int64_t{0}) != 0;
  const Case change = CaseOf(node, "case_change_action");
  const auto key = [&](const std::string& word) {
    return exact ? word : InCase(word, Case::kLower);
  };
  std::set<std::string> stop;
  for (const std::string& word : AttrOr(node, "stopwords", std::vector<std::string>())) {
    stop.insert(key(word));
  }
  std::vector<std::string> kept;
  for (const std::string& word : words) {
    if (!stop.contains(key(word))) kept.push_back(InCase(word, change));
  }
  if (kept.empty()) kept.emplace_back();
  return kept;
}

std::vector<ValueType> InferNormalizer(const InferInput& in) {
  RequireStrings(in, 0);
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(DType::kString, std::nullopt);
  if (x->empty() || x->size() > 2 ||
      (x->size() == 2 && x->front().known() && x->front() != Dim(1))) {
    RejectNode(*in.node, "takes strings of shape [C] or [1,C]");
  }
  Shape y = *x;
  y.back() = Dim();
  if (const Tensor* words = in.constants[0].get()) {
    y.back() = Dim(std::ssize(NormalWords(*in.node, words->strings())));
  }
  return OneOutput(DType::kString, y);
}

std::vector<Tensor> EvalNormalizer(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferNormalizer, node, inputs);
  outputs[0].mutable_strings() = NormalWords(node, inputs[0]->strings());
  return outputs;
}

// StringConcat (a, b) -> a with b behind it, element by element

std::vector<ValueType> InferJoin(const InferInput& in) {
  RequireStrings(in, 0);
  RequireStrings(in, 1);
  return OneOutput(DType::kString, BroadcastInputs(in));
}

std::vector<Tensor> EvalJoin(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferJoin, node, inputs);
  Tensor& y = outputs[0];
  const Dims a = BroadcastStrides(inputs[0]->dims(), y.dims());
  const Dims b = BroadcastStrides(inputs[1]->dims(), y.dims());
  const Dims strides = StridesOf(y.dims());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::int64_t from_a = 0;
    std::int64_t from_b = 0;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      const std::int64_t at = i / strides[axis] % y.dims()[axis];
      from_a += at * a[axis];
      from_b += at * b[axis];
    }
    y.mutable_strings()[static_cast<std::size_t>(i)] =
        inputs[0]->strings()[static_cast<std::size_t>(from_a)] +
        inputs[1]->strings()[static_cast<std::size_t>(from_b)];
  }
  return outputs;
}

// StringSplit (strings) -> parts [..., most], number of parts [...]

/// Returns the words between runs of white space.
std::vector<std::string> Words(const std::string& text) {
  constexpr const char* kSpace = " \t\n\r\f\v";
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(kSpace); at != std::string::npos;) {
    const std::size_t end = text.find_first_of(kSpace, at);
    words.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? end : text.find_first_not_of(kSpace, end);
  }
  return words;
}

/// Returns at most `most` + 1 parts of `text`; the last one has what follows.
std::vector<std::string> Parts(const std::string& text, const std::string& between,
                               std::size_t most) {
  if (between.empty()) {
    std::vector<std::string> words = Words(text);
    if (words.size() <= most + 1 || most == std::string::npos) return words;
    // The last part keeps the white space inside it.
    std::size_t at = 0;
    for (std::size_t i = 0; i < most; ++i) at = text.find(words[i], at) + words[i].size();
    words.resize(most);
    std::string rest = text.substr(text.find_first_not_of(" \t\n\r\f\v", at));
    rest.erase(rest.find_last_not_of(" \t\n\r\f\v") + 1);
    words.push_back(std::move(rest));
    return words;
  }
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (parts.size() < most) {
    const std::size_t end = text.find(between, at);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(at, end - at));
    at = end + between.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

std::vector<std::vector<std::string>> AllParts(const Node& node,
                                               const std::vector<std::string>& texts) {
  const std::string between = AttrOr(node, "delimiter", std::string());
  const std::int64_t given = AttrOr(node, "maxsplit", std::int64_t{-1});
  const std::size_t most = given < 0 ? std::string::npos : static_cast<std::size_t>(given);
  std::vector<std::vector<std::string>> all;
  for (const std::string& text : texts) all.push_back(Parts(text, between, most));
  return all;
}

std::size_t LongestOf(const std::vector<std::vector<std::string>>& all) {
  std::size_t longest = 0;
  for (const auto& parts : all) longest = std::max(longest, parts.size());
  return longest;
}

std::vector<ValueType> InferSplit(const InferInput& in) {
  RequireStrings(in, 0);
  const Shape* x = ShapeOf(in, 0);
  ValueType parts{.dtype = DType::kString};
  ValueType counts{.dtype = DType::kI64};
  if (x != nullptr) {
    counts.shape = *x;
    parts.shape = *x;
    const Tensor* texts = in.constants[0].get();
    const auto most = [&] { return LongestOf(AllParts(*in.node, texts->strings())); };
    parts.shape->push_back(texts == nullptr ? Dim() : Dim(static_cast<std::int64_t>(most())));
  }
  return {parts, counts};
}

std::vector<Tensor> EvalSplit(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferSplit, node, inputs);
  std::vector<std::vector<std::string>> all = AllParts(node, inputs[0]->strings());
  const std::size_t longest = LongestOf(all);
  const std::span<std::int64_t> counts = outputs[1].MutableValues<std::int64_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    counts[i] = std::ssize(all[i]);
    for (std::size_t k = 0; k < all[i].size(); ++k) {
      outputs[0].mutable_strings()[i * longest + k] = std::move(all[i][k]);
    }
  }
  return outputs;
}

// RegexFullMatch (strings) -> whether each matches as a whole

Regex RegexOf(const Node& node) {
  try {
    return Regex(AttrOr(node, "pattern", std::string()));
  } catch (const UserError& error) {
    RejectNode(node, error.what());
  }
}

std::vector<ValueType> InferRegex(const InferInput& in) {
  RequireStrings(in, 0);
  (void)RegexOf(*in.node);
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = DType::kBool;
  return types;
}

std::vector<Tensor> EvalRegex(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferRegex, node, inputs);
  const Regex regex = RegexOf(node);
  const auto y = outputs[0].MutableValues<std::uint8_t>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = regex.MatchesAll(inputs[0]->strings()[i]) ? 1 : 0;
  }
  return outputs;
}

}  // namespace

std::optional<char32_t> NextCharacter(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead < 0x80U   ? 1
                             : lead < 0xC0U ? 0
                             : lead < 0xE0U ? 2
                             : lead < 0xF0U ? 3
                             : lead < 0xF8U ? 4
                                            : 0;
  if (length == 0 || at + length > text.size()) return std::nullopt;
  char32_t letter = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xC0U) != 0x80U) return std::nullopt;
    letter = (letter << 6U) | (byte & 0x3FU);
  }
  at += length;
  return letter;
}

void RegisterStringOps(OpRegistry& ops) {
  const std::string none = "NONE";
  ops.Add({.name = "StringNormalizer",
           .inputs = {1, 1},
           .attrs = {{.name = "case_change_action", .otherwise = none},
                     {.name = "is_case_sensitive", .otherwise = std::int64_t{0}},
                     {.name = "locale", .otherwise = std::string()},
                     {.name = "stopwords", .otherwise = std::vector<std::string>()}},
           .infer = InferNormalizer,
           .eval = EvalNormalizer});
  ops.Add({.name = "RegexFullMatch",
           .inputs = {1, 1},
           .attrs = {{.name = "pattern", .otherwise = std::string()}},
           .infer = InferRegex,
           .eval = EvalRegex});
  ops.Add({.name = "StringConcat", .inputs = {2, 2}, .infer = InferJoin, .eval = EvalJoin});
  ops.Add({.name = "StringSplit",
           .inputs = {1, 1},
           .min_outputs = 1,
           .max_outputs = 2,
           .attrs = {{.name = "delimiter", .otherwise = std::string()},
                     {.name = "maxsplit", .otherwise = std::int64_t{-1}}},
           .infer = InferSplit,
           .eval = EvalSplit});
}

}  // namespace msc
