#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace msc::gym {

// What a subcommand with --json prints on standard output: one object, whose member "format" names
// its form, "msc-track-1". The number at its end grows with every change that breaks readers. Bytes
// that are not UTF-8 are replaced.

/// Prints a result, an object.
void PrintJsonResult(const std::string& format, const nlohmann::json& result);
void PrintJsonResult(const std::string& format, const nlohmann::ordered_json& result);

/// Prints an error, {"format": "msc-error-1", "exit_code": 2, "error": "..."}.
void PrintJsonError(int exit_code, const std::string& message);

}  // namespace msc::gym
