#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/ir/graph.h"
#include "compiler/targets/target.h"

namespace msc::gym {

/// Adds the model that a subcommand takes, and --shape.
void AddModelOptions(CLI::App& command, std::string& model, std::vector<std::string>& shapes,
                     const std::string& help = "an .onnx file or a saved graph (.json)");

/// Adds the option --batch, which every subcommand that compiles a model has.
void AddBatchOption(CLI::App& command, std::optional<std::int64_t>& batch);

/// Returns the samples per call: `asked` if given, else the model's own batch if it is fixed, else
/// 1. UserError, naming `option`, if `asked` does not fit the model's own batch.
[[nodiscard]] std::int64_t BatchFor(const Graph& graph, std::optional<std::int64_t> asked,
                                    const std::string& option = "--batch");

/// Adds an option whose help shows its default.
template <class T>
CLI::Option* AddSetting(CLI::App& command, const std::string& name, T& value,
                        const std::string& help) {
  return command.add_option(name, value, help)->capture_default_str();
}

/// Adds an option that accepts the values for which `check` has no complaint.
template <class T, class Check>
CLI::Option* AddSetting(CLI::App& command, const std::string& name, T& value, const Check& check,
                        const std::string& help) {
  return AddSetting(command, name, value, help)->check(check);
}

/// Adds the option --for: the runtime that will read an exported model (FindReader).
void AddReaderOption(CLI::App& command, std::string& reader);

/// Returns the target that an option names; for "auto" the one that ChooseTarget returns, and says
/// so on stderr.
[[nodiscard]] std::string TargetOf(const std::string& option, const TargetRegistry& targets);

void AddThreadsOption(CLI::App& command, int& threads,
                      const std::string& help = "number of threads");

/// Adds an option with one value, which may be repeated.
void AddRepeated(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                 const std::string& help);

}  // namespace msc::gym
