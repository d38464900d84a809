#pragma once

// Internal to this folder.

#include <chrono>
#include <string>
#include <vector>

namespace msc {

struct Program {
  std::vector<std::string> argv;         ///< argv[0] is the path
  std::vector<std::string> environment;  ///< complete
  std::chrono::milliseconds timeout{60'000};
  /// Removed with its contents if this process dies before the program ends.
  std::string folder = {};
};

struct ProgramEnd {
  bool timed_out = false;
  int signal = 0;      ///< that killed it; 0 = none
  int status = 0;      ///< exit status
  std::string output;  ///< start of its output
};

/// Runs a program without a shell until it ends, with stdin from /dev/null and with stdout and
/// stderr to the new file `output`. The program leads a process group, because a compiler starts
/// further processes. The group is killed when the program ends, at the timeout, and when this
/// process dies for any reason, be it an uncaught signal or SIGKILL. A guard process between the
/// two ensures this. SystemError if the program cannot be started.
[[nodiscard]] ProgramEnd RunProgram(const Program& program, const std::string& output);

}  // namespace msc
