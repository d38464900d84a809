#pragma once

// Private to this folder.

#include <chrono>
#include <string>
#include <vector>

namespace msc {

struct Program {
  std::vector<std::string> argv;         ///< argv[0] is the path
  std::vector<std::string> environment;  ///< all of it
  std::chrono::milliseconds timeout{60'000};
  std::string folder = {};  ///< removed with all in it if this process dies before the program
};

struct ProgramEnd {
  bool timed_out = false;
  int signal = 0;      ///< it died of; 0 = none
  int status = 0;      ///< it exited with
  std::string output;  ///< start of what it printed
};

/// Runs a program without a shell to its end, stdin /dev/null, stdout and stderr into the new file
/// `output`; a compiler has others at work for it, so it leads a process group, which is killed
/// when it ends, at the timeout, and when this process dies, of whatever: a signal that nobody
/// catches, or SIGKILL. A process between the two sees to that. SystemError if it cannot be
/// started.
[[nodiscard]] ProgramEnd RunProgram(const Program& program, const std::string& output);

}  // namespace msc
