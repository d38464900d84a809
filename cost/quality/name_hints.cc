#include "cost/quality/name_hints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace msc::cost {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 4> kEmbeddingWords = {"embed", "feat", "hidden", "pooler"};
constexpr std::array<std::string_view, 16> kNumberWords = {
    "box",   "landmark", "kps",  "kpt",    "keypoint", "heatmap", "joint",  "depth",
    "angle", "coord",    "pose", "offset", "value",    "price",   "regres", "forecast"};
constexpr std::array<std::string_view, 5> kClassWords = {"logit", "prob", "class", "score", "cls"};
constexpr std::array<std::string_view, 2> kMaskWords = {"seg", "mask"};
/// Names of operators that begin with one of these words.
constexpr std::array<std::string_view, 3> kOperators = {"depthwise", "depth_to_space",
                                                        "depthtospace"};

char Lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool IsUpper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

bool StartsWithAny(std::string_view text, Words words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.starts_with(word); });
}

NameHint HintAt(std::string_view rest) {
  if (StartsWithAny(rest, kOperators)) return NameHint::kNone;
  if (StartsWithAny(rest, kEmbeddingWords)) return NameHint::kEmbedding;
  if (StartsWithAny(rest, kNumberWords)) return NameHint::kNumbers;
  if (StartsWithAny(rest, kClassWords)) return NameHint::kClasses;
  return StartsWithAny(rest, kMaskWords) ? NameHint::kMask : NameHint::kNone;
}

}  // namespace

NameHint HintOf(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), Lower);
  for (std::size_t i = name.size(); i-- > 0;) {
    const bool starts =
        i == 0 || !IsLetter(name[i - 1]) || (IsUpper(name[i]) && !IsUpper(name[i - 1]));
    if (!starts) continue;
    const NameHint hint = HintAt(std::string_view(lower).substr(i));
    if (hint != NameHint::kNone) return hint;
  }
  return NameHint::kNone;
}

}  // namespace msc::cost
