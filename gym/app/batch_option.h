#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/graph.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// The option --batch of every subcommand that compiles a model.
void AddBatchOption(CLI::App& command, std::optional<std::int64_t>& batch);

/// Samples of one call: `asked`, or 1 where it is not given; the model's own where no input leaves
/// them open. UserError, naming `option`, where `asked` is something else than the model's own.
[[nodiscard]] std::int64_t BatchFor(const Graph& graph, std::optional<std::int64_t> asked,
                                    const std::string& option = "--batch");

}  // namespace msc::gym
