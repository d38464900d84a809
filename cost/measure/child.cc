#include "cost/measure/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "cost/measure/child_start.h"
#include "cost/measure/record.h"

namespace msc::cost {
namespace {

using Clock = std::chrono::steady_clock;

/// What came out of a pipe so far; keeps the first or the last `most` bytes.
struct Stream {
  int fd = -1;
  std::size_t most = 0;
  bool keep_end = false;
  std::string bytes = {};
  bool overflow = false;
  bool ended = false;
};

/// Takes what is there without waiting for more.
void Drain(Stream& stream) {
  std::array<char, 1U << 16U> buffer{};
  while (!stream.ended) {
    const ssize_t got = ::read(stream.fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      stream.ended = true;
      return;
    }
    stream.bytes.append(buffer.data(), static_cast<std::size_t>(got));
    if (stream.bytes.size() <= stream.most) continue;
    stream.overflow = true;
    if (stream.keep_end) {
      stream.bytes.erase(0, stream.bytes.size() - stream.most);
    } else {
      stream.bytes.resize(stream.most);
    }
    // A child that floods a pipe must not keep the parent from seeing the deadline.
    return;
  }
}

enum class Ending { kExited, kDeadline, kStopped };

bool HasExited(pid_t pid) {
  siginfo_t state{};
  // WNOWAIT keeps the zombie: while it is there nobody else can get its process group id.
  const int rc = ::waitid(P_PID, static_cast<id_t>(pid), &state, WEXITED | WNOHANG | WNOWAIT);
  return rc == 0 && state.si_pid == pid;
}

/// Waits for the child, its output, the deadline or the caller, whichever is first.
Ending Watch(const StartedChild& child, Clock::time_point deadline, Stream& record, Stream& errors,
             const std::function<bool()>& stop) {
  // Old kernels and some sandboxes have no pidfd: then the child is looked at every 2 ms.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0));
  const Descriptor pidfd_owner(pidfd);
  constexpr std::chrono::milliseconds kStopCheck{20};
  constexpr std::chrono::milliseconds kBlindCheck{2};
  while (true) {
    if (HasExited(child.pid)) return Ending::kExited;
    if (stop && stop()) return Ending::kStopped;
    const auto now = Clock::now();
    if (now >= deadline) return Ending::kDeadline;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    const auto wait = std::min(left, pidfd < 0 ? kBlindCheck : kStopCheck);
    // poll ignores entries with a negative descriptor.
    std::array<pollfd, 3> polled = {{{pidfd, POLLIN, 0},
                                     {record.ended ? -1 : record.fd, POLLIN, 0},
                                     {errors.ended ? -1 : errors.fd, POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), static_cast<int>(wait.count()));
    if (polled[1].revents != 0) Drain(record);
    if (polled[2].revents != 0) Drain(errors);
  }
}

/// Kills the group, reaps the child and what this process, as subreaper, inherits from it.
int KillAndReap(pid_t pid, rusage& usage) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);  // it may have left its group
  int status = 0;
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  // The killed grandchildren come here in their own time; what does not die within the patience is
  // stuck in the kernel and reaped by a later call or at exit.
  const auto patience = Clock::now() + std::chrono::milliseconds(500);
  while (Clock::now() < patience) {
    const pid_t reaped = ::waitpid(-pid, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) {
      if (::kill(-pid, 0) != 0) break;  // nobody is left in the group, ours or not
    }
    if (reaped <= 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return status;
}

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

std::string LastLine(std::string_view text) {
  constexpr std::size_t kMost = 200;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t begin = text.rfind('\n');
  if (begin != std::string_view::npos) text.remove_prefix(begin + 1);
  std::string line(text.substr(0, kMost));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return line;
}

/// Why a child that ended by itself gave nothing, or nullopt if its status is fine.
std::optional<Failure> JudgeStatus(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) return Failure{FailureKind::kTimeout, "used up its processor time"};
    // Nobody but the kernel's memory killer sends SIGKILL before we do.
    if (signal == SIGKILL) return Failure{FailureKind::kOutOfMemory, "killed by the system"};
    return Failure{FailureKind::kCrash, "died of " + SignalName(signal)};
  }
  const int code = WEXITSTATUS(status);
  if (code == kExitOutOfMemory) return Failure{FailureKind::kOutOfMemory, "ran out of memory"};
  if (code != 0) return Failure{FailureKind::kCrash, "exited with " + std::to_string(code)};
  return std::nullopt;
}

std::optional<Failure> Judge(Ending ending, int status, const ChildCommand& command) {
  if (ending == Ending::kStopped) return Failure{FailureKind::kLost, "stopped"};
  if (ending == Ending::kDeadline) {
    return Failure{FailureKind::kTimeout,
                   "no answer within " + std::to_string(command.limits.timeout.count()) + " ms"};
  }
  return JudgeStatus(status);
}

std::chrono::nanoseconds ToNanoseconds(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

Result<ChildReport> RunChild(const ChildCommand& command, const std::function<bool()>& stop) {
  Check(!command.argv.empty(), "a child command names a program");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto start = Clock::now();
  const StartedChild child = StartChild(command);
  Stream record{child.record.get(), command.limits.record_bytes + kRecordOverhead};
  Stream errors{child.errors.get(), command.limits.stderr_bytes, true};
  const Ending ending = Watch(child, start + command.limits.timeout, record, errors, stop);

  ChildReport report;
  rusage usage{};
  const int status = KillAndReap(child.pid, usage);
  report.wall = Clock::now() - start;
  report.cpu = ToNanoseconds(usage.ru_utime) + ToNanoseconds(usage.ru_stime);
  report.peak_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  // Whoever could write is dead: what is in the pipes is all there will be.
  while (!record.ended && !record.overflow) {
    const std::size_t before = record.bytes.size();
    Drain(record);
    if (record.bytes.size() == before) break;
  }
  Drain(errors);

  auto failure = Judge(ending, status, command);
  if (!failure) {
    if (record.bytes.empty()) {
      failure = Failure{FailureKind::kCrash, "ended without a result"};
    } else if (record.overflow) {
      failure = Failure{FailureKind::kCrash, "sent a result that is too long"};
    } else if (auto payload = ParseRecord(record.bytes)) {
      report.record = *std::move(payload);
    } else {
      failure = Failure{FailureKind::kCrash, "sent a damaged result"};
    }
  }
  if (failure) {
    const std::string line = LastLine(errors.bytes);
    if (!line.empty() && failure->kind != FailureKind::kLost) failure->detail += ": " + line;
    return *std::move(failure);
  }
  report.stderr_text = std::move(errors.bytes);
  return report;
}

}  // namespace msc::cost
