#include "compiler/base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace msc {
namespace {

/// Returns the Levenshtein distance.
std::size_t Edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  // Names are short. The limit bounds the cost, which is quadratic in the length.
  constexpr std::size_t kMaxLetters = 200;
  word = word.substr(0, kMaxLetters);
  const std::string* nearest = nullptr;
  std::size_t fewest = std::max(word.size() / 3, std::min<std::size_t>(word.size() / 2, 2)) + 1;
  std::string list;
  for (const std::string& each : known) {
    const std::size_t edits = Edits(word, std::string_view(each).substr(0, kMaxLetters));
    if (edits < fewest) {
      fewest = edits;
      nearest = &each;
    }
    if (list.size() < kMaxLetters) list += (list.empty() ? "; known: " : ", ") + each;
  }
  return nearest != nullptr ? "; did you mean '" + *nearest + "'?" : list;
}

}  // namespace msc
