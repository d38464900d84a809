#pragma once

namespace msc::gym {

/// Makes Ctrl-C, SIGTERM and SIGHUP (the terminal went) ask for an orderly stop instead of killing;
/// the second one kills. A SIGHUP that was ignored at the start, as nohup does, stays ignored.
void CatchStopSignals();

/// Whether a stop was asked for.
[[nodiscard]] bool StopRequested();

}  // namespace msc::gym
