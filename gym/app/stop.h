#pragma once

namespace msc::gym {

/// Makes Ctrl-C, SIGTERM and SIGHUP (terminal closed) request an orderly stop; the second signal
/// kills. A SIGHUP that was ignored at the start, as under nohup, stays ignored.
void CatchStopSignals();

/// Returns whether a stop was requested.
[[nodiscard]] bool StopRequested();

}  // namespace msc::gym
