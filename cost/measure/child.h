#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/base/result.h"

namespace msc::cost {

/// Limits of a child. Those of memory, processor time, files and descriptors are set before the
/// program starts and enforced by the kernel. Wall-clock time in which the caller itself did not
/// run (because it was stopped or the machine slept) does not count.
struct ChildLimits {
  std::chrono::milliseconds timeout{60000};  ///< wall clock between start and result
  /// Longest consecutive time in which all threads may sleep, as if waiting for something that
  /// never comes. 0 = unlimited.
  std::chrono::milliseconds idle{0};
  std::chrono::milliseconds stopped{2000};  ///< longest consecutive time of being stopped (SIGSTOP)
  /// Limit on memory that only the child can write to (RLIMIT_DATA). Address space is not limited,
  /// because libraries reserve more than they use. 0 = unlimited.
  std::int64_t memory_bytes = 0;
  std::int64_t cpu_seconds = 0;        ///< of all threads together; 0 = unlimited
  std::int64_t file_bytes = 8 << 20;   ///< largest file that it may write
  std::int64_t open_files = 64;        ///< most file descriptors
  std::size_t record_bytes = 8 << 20;  ///< largest payload of its record
  /// Bytes kept of its output on stderr, from the end.
  std::size_t stderr_bytes = std::size_t{16} << 10U;
};

/// How a child answers: by a record (record.h) on descriptor 3, or, if it knows nothing of this
/// program, by any text on stdout.
enum class ChildReply : unsigned char { kRecord, kText };

/// A program to run as a child. Its environment is exactly `environment`. It inherits nothing, so
/// that no MPI variable makes it act as a rank.
struct ChildCommand {
  std::vector<std::string> argv;  ///< argv[0] is the path of the program; PATH is not searched
  std::vector<std::string> environment;  ///< "NAME=value"
  std::vector<int> cores;                ///< cores that it is bound to from the start; empty = any
  ChildLimits limits;
  ChildReply reply = ChildReply::kRecord;
  std::string folder = {};  ///< working directory; empty = that of the caller
};

/// Returns the environment of a child that computes with `threads` threads: the C locale, settings
/// of OpenMP and `more`, each "NAME=value". `bind` keeps each thread of OpenMP on its core.
[[nodiscard]] std::vector<std::string> ChildEnvironment(int threads, bool bind,
                                                        const std::vector<std::string>& more);

/// Result of a successful child.
struct ChildReport {
  std::string record;       ///< payload of its record, or its text
  std::string stderr_text;  ///< end of its output on stderr
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds cpu{};  ///< user and system time
  std::int64_t peak_rss_bytes = 0;
};

/// Exit status by which a child reports that it ran out of memory.
inline constexpr int kExitOutOfMemory = 77;

/// Returns the failure of a child that its caller stopped.
[[nodiscard]] Failure ToldToStop();

/// Runs a program that may crash, hang or misbehave, and receives one record or text from it.
///
/// The child leads its own process group and is killed when the calling thread dies. Its stdin and
/// stdout are /dev/null, descriptor 3 takes the record, and all other descriptors except stderr are
/// closed; if it answers by text, stdout takes that and descriptor 3 is closed, too. The whole
/// group, including grandchildren, is killed in every case. The call returns when the child has
/// ended, at a time limit, or soon after `stop` returns true (then with ToldToStop).
///
/// Failures:
/// - kLost: another process ended it, by a signal that programs receive from outside (such as
///   SIGKILL from a person or from a kernel out of memory, or SIGTERM), or stopped it for longer
///   than its limit or at its deadline.
/// - kTimeout: limits of wall-clock or processor time.
/// - kOutOfMemory: exit status 77, by which a program that writes records reports that it got no
///   more memory.
/// - kCrash: any other signal or exit status; a missing, damaged or too long record or text.
///
/// SystemError if the child cannot be started. Thread-safe. Makes this process a subreaper, so that
/// it reaps grandchildren itself and needs no init process. Builds with a sanitizer set no memory
/// limit, because sanitizers reserve terabytes.
[[nodiscard]] Result<ChildReport> RunChild(const ChildCommand& command,
                                           const std::function<bool()>& stop = {});

}  // namespace msc::cost
