#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace msc::fuzz {

/// Feeds bytes from outside to one reader. The reader may throw UserError; anything else is a
/// finding. Add a target: one such function in a file of its own, a row in AllTargets(), a corpus
/// folder of the same name, a line in CMakeLists.txt.
void FuzzGraphFiles(std::string_view bytes);
void FuzzGraphText(std::string_view bytes);
void FuzzJournal(std::string_view bytes);
void FuzzOnnx(std::string_view bytes);
void FuzzOnnxExternal(std::string_view bytes);
void FuzzPartitionRules(std::string_view bytes);
void FuzzSamples(std::string_view bytes);
void FuzzStrategy(std::string_view bytes);

struct Target {
  std::string_view name;  ///< of the corpus folder too
  void (*run)(std::string_view bytes);
};

[[nodiscard]] std::vector<Target> AllTargets();

}  // namespace msc::fuzz
