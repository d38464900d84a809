#include "cost/quality/alphabet.h"

#include <algorithm>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

/// Returns the first character of a text in UTF-8.
std::string FirstCharacter(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
    ++length;
  }
  return std::string(text.substr(0, length));
}

}  // namespace

Alphabet::Alphabet(const std::vector<std::string>& lines, const std::string& path,
                   std::int64_t classes, std::int64_t blank)
    : path_(path) {
  const std::int64_t separator = blank < 0 ? blank + classes : blank;
  const std::int64_t missing = classes - std::ssize(lines);
  if (missing < 0 || missing > 2) {
    throw UserError("'" + path + "' has " + std::to_string(lines.size()) +
                    " lines; the output has " + std::to_string(classes) +
                    " classes: it needs one line for each, with or without the blank (class " +
                    std::to_string(separator) + "), and without a space if that is the last class");
  }
  std::int64_t number = 0;
  for (const std::string& line : lines) {
    if (missing > 0 && number == separator) ++number;
    if (number != separator && !line.empty()) {
      classes_.emplace(line, number);
      longest_ = std::max(longest_, line.size());
    }
    ++number;
  }
  if (missing < 2) return;
  if (number == separator) ++number;
  classes_.emplace(" ", number);
  longest_ = std::max<std::size_t>(longest_, 1);
}

std::vector<float> Alphabet::ClassesOf(std::string_view text, const std::string& sample) const {
  std::vector<float> found;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = std::min(longest_, text.size() - at);
    auto entry = classes_.end();
    for (; length > 0 && entry == classes_.end(); --length) {
      entry = classes_.find(std::string(text.substr(at, length)));
    }
    if (entry == classes_.end()) {
      throw UserError(sample + " has '" + FirstCharacter(text.substr(at)) +
                      "', which is not in the alphabet '" + path_ + "'");
    }
    found.push_back(static_cast<float>(entry->second));
    at += entry->first.size();
  }
  return found;
}

}  // namespace msc::cost
