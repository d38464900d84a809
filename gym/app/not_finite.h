#pragma once

#include <optional>
#include <string>

#include "cost/track/finite.h"

namespace msc::gym {

/// Returns the message for an output that is not finite although the uncompressed model's is: the
/// first operator with such a value, and a remedy.
[[nodiscard]] std::string NotFiniteText(const cost::NotFinite& found);

/// Checks the outputs of `run` and reports values that are not finite on stderr. Returns true if
/// the outputs of the uncompressed model are finite: the program then ends with kExitFailure. If
/// the uncompressed model's outputs are not finite either, prints a note and returns false.
[[nodiscard]] bool ComplainOfNotFinite(const cost::ModelRun& run);

}  // namespace msc::gym
