#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/base/result.h"

namespace msc::cost {

/// What a child may use. Those that are no time are set by the kernel, before the program starts.
/// Time in which the caller itself did not run, as it was stopped or the machine slept, is
/// nobody's.
struct ChildLimits {
  std::chrono::milliseconds timeout{60000};  ///< wall clock, from start to result
  /// Wall clock in a row in which all its threads sleep, as if they waited for something that never
  /// comes. 0 = unlimited.
  std::chrono::milliseconds idle{0};
  std::chrono::milliseconds stopped{2000};  ///< wall clock in a row of being stopped (SIGSTOP)
  /// Memory that it alone can write to (RLIMIT_DATA), as address space is reserved by libraries
  /// that never use it; 0 = unlimited.
  std::int64_t memory_bytes = 0;
  std::int64_t cpu_seconds = 0;                       ///< all threads together; 0 = unlimited
  std::int64_t file_bytes = 8 << 20;                  ///< largest file it may write
  std::int64_t open_files = 64;                       ///< descriptors
  std::size_t record_bytes = 8 << 20;                 ///< payload of its record
  std::size_t stderr_bytes = std::size_t{16} << 10U;  ///< kept of what it prints: the end
};

/// A program to run as a child. Its environment is exactly `environment`: nothing is inherited,
/// so that no MPI variable makes it believe that it is a rank.
struct ChildCommand {
  std::vector<std::string> argv;         ///< argv[0] is the program's path; PATH is not searched
  std::vector<std::string> environment;  ///< "NAME=value"
  std::vector<int> cores;                ///< it is bound to these from the start; empty = any
  ChildLimits limits;
};

/// What a child that did its work gave.
struct ChildReport {
  std::string record;       ///< payload of its record
  std::string stderr_text;  ///< end of what it printed
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds cpu{};  ///< user and system time
  std::int64_t peak_rss_bytes = 0;
};

/// Exit status by which a child says that it ran out of memory.
inline constexpr int kExitOutOfMemory = 77;

/// What is left of a child whose caller wanted it to stop.
[[nodiscard]] Failure ToldToStop();

/// Runs a program that may crash, hang or misbehave, and takes one record from it.
///
/// The child leads a process group of its own; it is killed when the calling thread dies; stdin
/// and stdout are /dev/null; descriptor 3 takes the record; every other descriptor is closed. The
/// group is killed whatever happens, grandchildren included. The call returns when the child has
/// ended, at a limit of time, or soon after `stop` says true (then with ToldToStop).
///
/// Failures: kLost where somebody else ended it (killed by a signal that programs get from outside,
/// such as SIGKILL of a person or of a kernel that ran out of memory, or SIGTERM; or stopped for
/// longer than its limit, or when its time was up); kTimeout (limits of time, or of the
/// processor's); kOutOfMemory (exit status 77, as which a program reports that it cannot have
/// more); kCrash (any other signal or exit status; no record, a damaged one, one too long).
/// SystemError if it cannot be started. Thread-safe. Makes this process a subreaper, so that
/// grandchildren are reaped here and not left to an init that may not exist. In builds with a
/// sanitizer the memory limit is not set, as those reserve terabytes.
[[nodiscard]] Result<ChildReport> RunChild(const ChildCommand& command,
                                           const std::function<bool()>& stop = {});

}  // namespace msc::cost
