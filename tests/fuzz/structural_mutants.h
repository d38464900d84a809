#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/targets/target.h"

namespace msc::fuzz {

/// What a mutant goes through, and how much of it.
struct MutantOptions {
  std::vector<std::string> targets;  ///< whom it is compiled for
  /// All of it; else a part of what follows canonicalizing, drawn by `seed`.
  bool all = true;
  std::uint64_t seed = 0;             ///< of what is drawn, of plans and of inputs
  double most_reference_flops = 5e6;  ///< of a run by the reference kernels
  double most_flops = 1e9;            ///< of other runs
  double most_bytes = 1e8;            ///< of all values of a model that is compiled
  /// Hears the name of each stage before it begins.
  std::function<void(std::string_view stage)> on_stage = {};
};

/// What became of a model. Refusing it is as good as taking it.
struct MutantEnd {
  bool imported = false;
  std::vector<std::string> refusals;   ///< "stage: text" of what refused it with a clear error
  std::optional<std::string> finding;  ///< "stage: text" of what must not be: anything else
};

/// Takes the model through all that users do with one: imports it, writes and reads it as text and
/// as JSON, canonicalizes, prunes half of its channels, stores its layers in fewer bits, exports it
/// and reads that again, compiles it for every target and runs it once where that is quick. What
/// only a run decides is run by the interpreter beside compiled nodes.
[[nodiscard]] MutantEnd TryMutant(std::string_view bytes, const TargetRegistry& registry,
                                  const MutantOptions& options);

}  // namespace msc::fuzz
