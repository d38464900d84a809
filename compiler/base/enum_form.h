#pragma once

#include <cstddef>
#include <string>

#include "compiler/base/error.h"

namespace msc {

/// A StringForm of an enum whose values count from 0: `kWords` is an array with a word for each.
template <class Enum, const auto& kWords>
struct EnumForm {
  static std::string Write(const Enum& value) {
    return std::string(kWords.at(static_cast<std::size_t>(value)));
  }
  static Enum Read(const std::string& text) {
    std::string known;
    for (std::size_t i = 0; i < kWords.size(); ++i) {
      if (kWords.at(i) == text) return static_cast<Enum>(i);
      known += (i == 0 ? "" : ", ") + std::string(kWords.at(i));
    }
    throw UserError("'" + text + "' is not one of " + known);
  }
};

}  // namespace msc
