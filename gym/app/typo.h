#pragma once

#include <string>

#include "gym/app/command.h"

namespace msc::gym {

/// Returns what is wrong with a command line whose first word names no subcommand: "unknown
/// subcommand 'serch'; did you mean 'search'?". Empty if it names one or is an option.
[[nodiscard]] std::string UnknownSubcommand(const CLI::App& app, const std::string& first);

/// Returns "; did you mean '--trials'?" if the command line has an option that its subcommand does
/// not have, but one with a similar name. Empty otherwise.
[[nodiscard]] std::string OptionHint(const CLI::App& app, int argc, const char* const* argv);

}  // namespace msc::gym
