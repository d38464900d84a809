#include "compiler/base/within.h"

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

namespace msc {
namespace {

/// Formats whole numbers in full: 1000000, not 1e+06.
std::string NumberText(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: a double holds every integer up to here
  if (std::trunc(value) == value && std::abs(value) <= kExact) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

std::string Within::Text(const std::string& otherwise) const {
  std::ostringstream text;
  if (!choices.empty()) {
    text << "one of ";
    for (std::size_t i = 0; i < choices.size(); ++i) text << (i == 0 ? "" : ", ") << choices[i];
  } else if (std::isfinite(least) && std::isfinite(most)) {
    text << "between " << NumberText(least) << " and " << NumberText(most);
  } else if (std::isfinite(least)) {
    text << "at least " << NumberText(least);
  } else if (std::isfinite(most)) {
    text << "at most " << NumberText(most);
  } else {
    text << otherwise;
  }
  return text.str();
}

}  // namespace msc
