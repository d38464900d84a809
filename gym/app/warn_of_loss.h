#pragma once

#include <string>

namespace msc::gym {

/// Prints to stderr what is missing in an output. Returns the exit code of the command: a failure
/// if anything is missing, that is, if `loss` is not empty.
[[nodiscard]] int WarnOfLoss(const std::string& loss);

}  // namespace msc::gym
