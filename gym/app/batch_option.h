#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/graph.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// Adds the option --batch, which every subcommand that compiles a model has.
void AddBatchOption(CLI::App& command, std::optional<std::int64_t>& batch);

/// Returns the samples per call: `asked` if given, else the model's own batch if it is fixed, else
/// 1. UserError, naming `option`, if `asked` does not fit the model's own batch.
[[nodiscard]] std::int64_t BatchFor(const Graph& graph, std::optional<std::int64_t> asked,
                                    const std::string& option = "--batch");

}  // namespace msc::gym
