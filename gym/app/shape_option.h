#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// Adds the option --shape, which every subcommand that takes a model has.
void AddShapeOption(CLI::App& command, std::vector<std::string>& shapes);

}  // namespace msc::gym
