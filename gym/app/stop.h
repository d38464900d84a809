#pragma once

namespace msc::gym {

/// Makes Ctrl-C and SIGTERM ask for an orderly stop instead of killing; the second one kills.
void CatchStopSignals();

/// Whether a stop was asked for.
[[nodiscard]] bool StopRequested();

}  // namespace msc::gym
