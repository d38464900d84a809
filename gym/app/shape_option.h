#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// The option --shape of every subcommand that takes a model.
void AddShapeOption(CLI::App& command, std::vector<std::string>& shapes);

}  // namespace msc::gym
