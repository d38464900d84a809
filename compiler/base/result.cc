#include "compiler/base/result.h"

#include <array>

namespace msc {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "unsupported", "compile", "timeout", "crash", "wrong_output", "out_of_memory", "lost"};

}  // namespace

std::string_view Name(FailureKind kind) {
  return kNames.at(static_cast<std::size_t>(kind));
}

std::optional<FailureKind> ParseFailureKind(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<FailureKind>(i);
  }
  return std::nullopt;
}

}  // namespace msc
