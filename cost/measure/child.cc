#include "cost/measure/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "cost/measure/child_start.h"
#include "cost/measure/memory.h"
#include "cost/measure/record.h"

namespace msc::cost {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes received from a pipe; keeps the first or the last `most` of them.
struct Stream {
  int fd = -1;
  std::size_t most = 0;
  bool keep_end = false;
  std::string bytes = {};
  bool overflow = false;
  bool ended = false;
};

/// Reads the available bytes without waiting for more.
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
    // Return, because a child that floods a pipe must not keep the parent from checking its
    // deadline.
    return;
  }
}

/// Why watching a child ended. kHeld: another process stopped the child; kStopped: the caller asked
/// to stop.
enum class Ending { kExited, kDeadline, kIdle, kHeld, kStopped };

enum class State { kRuns, kHeld, kExited };

State StateOf(pid_t pid) {
  siginfo_t state{};
  // WNOWAIT keeps the zombie, so that no other process can get its process group id.
  const int rc =
      ::waitid(P_PID, static_cast<id_t>(pid), &state, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
  if (rc != 0 || state.si_pid != pid) return State::kRuns;
  return state.si_code == CLD_STOPPED ? State::kHeld : State::kExited;
}

/// Returns the processor time of all threads; 0 if it is no longer available.
std::chrono::nanoseconds ProcessorTime(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Returns whether all threads sleep. A thread that waits for a core or a disk, on which other
/// processes may be busy, does not sleep.
bool Sleeps(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/";
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir(folder.c_str()), ::closedir);
  while (const dirent* task = tasks ? ::readdir(tasks.get()) : nullptr) {
    std::ifstream file(folder + static_cast<const char*>(task->d_name) + "/stat");
    std::string stat;
    std::getline(file, stat);
    // The state follows the process name, which is in parentheses and may contain parentheses.
    const std::size_t name = stat.rfind(") ");
    if (name == stat.npos || name + 2 >= stat.size()) continue;
    const char state = stat[name + 2];
    if (state == 'R' || state == 'D') return false;
  }
  return true;
}

/// Measures how much of its time limits a child has used.
class TimeUsed {
 public:
  explicit TimeUsed(const ChildLimits& limits) : limits_(limits) {}

  /// Adds the time since the last call to the limits that apply to this state.
  void Count(State state, pid_t pid) {
    // Calls are about 20 ms apart. A longer pause means that this process did not run.
    constexpr Clock::duration kLongest = std::chrono::seconds(1);
    const auto now = Clock::now();
    const auto step = std::min(now - std::exchange(last_, now), kLongest);
    all_ += step;
    if (state == State::kHeld) {
      held_ += step;
      idle_ = {};
      return;
    }
    held_ = {};
    const auto busy = ProcessorTime(pid);
    const bool idle = busy == std::exchange(busy_, busy) && Sleeps(pid);
    idle_ = idle ? idle_ + step : Clock::duration{};
  }

  /// Returns the reached limit, if any.
  [[nodiscard]] std::optional<Ending> Over() const {
    const bool late = all_ >= limits_.timeout;
    if (held_ >= limits_.stopped || (late && held_ > Clock::duration{})) return Ending::kHeld;
    if (late) return Ending::kDeadline;
    if (limits_.idle.count() > 0 && idle_ >= limits_.idle) return Ending::kIdle;
    return std::nullopt;
  }

  /// Returns the time until the deadline.
  [[nodiscard]] std::chrono::milliseconds Left() const {
    return std::chrono::ceil<std::chrono::milliseconds>(limits_.timeout - all_);
  }

 private:
  const ChildLimits& limits_;
  Clock::time_point last_ = Clock::now();
  Clock::duration all_{};
  Clock::duration held_{};  ///< consecutive
  Clock::duration idle_{};  ///< consecutive
  std::chrono::nanoseconds busy_{};
};

/// Waits until the child exits, a time limit is reached, or the caller asks to stop. Reads output
/// meanwhile.
Ending Watch(const StartedChild& child, const ChildLimits& limits, Stream& record, Stream& errors,
             const std::function<bool()>& stop) {
  // Old kernels and some sandboxes lack pidfd; the child is then checked every 2 ms.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0));
  const Descriptor pidfd_owner(pidfd);
  constexpr std::chrono::milliseconds kStopCheck{20};
  constexpr std::chrono::milliseconds kBlindCheck{2};
  TimeUsed used(limits);
  while (true) {
    const State state = StateOf(child.pid);
    if (state == State::kExited) return Ending::kExited;
    if (stop && stop()) return Ending::kStopped;
    used.Count(state, child.pid);
    if (const auto over = used.Over()) return *over;
    const auto wait = std::min(used.Left(), pidfd < 0 ? kBlindCheck : kStopCheck);
    // poll ignores negative descriptors.
    std::array<pollfd, 3> polled = {{{pidfd, POLLIN, 0},
                                     {record.ended ? -1 : record.fd, POLLIN, 0},
                                     {errors.ended ? -1 : errors.fd, POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), static_cast<int>(wait.count()));
    if (polled[1].revents != 0) Drain(record);
    if (polled[2].revents != 0) Drain(errors);
  }
}

/// Kills the group and reaps the child and the descendants that this process, as subreaper,
/// inherits.
int KillAndReap(pid_t pid, rusage& usage) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);  // the child may have left its group
  int status = 0;
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  // Killed grandchildren arrive here one by one. A process that does not die within this time is
  // stuck in the kernel; a later call or the exit of this process reaps it.
  const auto patience = Clock::now() + std::chrono::milliseconds(500);
  while (Clock::now() < patience) {
    const pid_t reaped = ::waitpid(-pid, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) {
      if (::kill(-pid, 0) != 0) break;  // no process is left in the group
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

/// Returns whether programs receive this signal from outside: from people, supervisors, or a kernel
/// without memory. Faults of the program itself raise other signals.
bool IsFromOutside(int signal) {
  constexpr std::array kOutside = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  return std::find(kOutside.begin(), kOutside.end(), signal) != kOutside.end();
}

/// How a child ended.
struct End {
  Ending ending = Ending::kExited;
  int status = 0;
  bool memory_ran_out = false;  ///< the kernel killed some process for lack of memory meanwhile
  std::chrono::nanoseconds cpu{};
};

Failure JudgeSignal(const End& end, const ChildLimits& limits) {
  const int signal = WTERMSIG(end.status);
  const bool used_up =
      limits.cpu_seconds > 0 && end.cpu >= std::chrono::seconds(limits.cpu_seconds);
  if (signal == SIGXCPU || (signal == SIGKILL && used_up)) {
    return {FailureKind::kTimeout, "used up its processor time"};
  }
  if (!IsFromOutside(signal)) return {FailureKind::kCrash, "died of " + SignalName(signal)};
  if (signal == SIGKILL && end.memory_ran_out) {
    return {FailureKind::kLost, "killed while the kernel killed processes for lack of memory"};
  }
  return {FailureKind::kLost, "killed from outside by " + SignalName(signal)};
}

/// Returns the failure of a child that ended by itself, or nothing if its status is fine.
std::optional<Failure> JudgeStatus(const End& end, const ChildCommand& command) {
  if (WIFSIGNALED(end.status)) return JudgeSignal(end, command.limits);
  const int code = WEXITSTATUS(end.status);
  const bool ours = command.reply == ChildReply::kRecord;
  if (ours && code == kExitOutOfMemory)
    return Failure{FailureKind::kOutOfMemory, "ran out of memory"};
  if (code != 0) return Failure{FailureKind::kCrash, "exited with " + std::to_string(code)};
  return std::nullopt;
}

std::optional<Failure> Judge(const End& end, const ChildCommand& command) {
  const ChildLimits& limits = command.limits;
  const auto text = [](std::chrono::milliseconds time) {
    return std::to_string(time.count()) + " ms";
  };
  switch (end.ending) {
    case Ending::kStopped:
      return ToldToStop();
    case Ending::kHeld:
      return Failure{FailureKind::kLost, "stopped from outside"};
    case Ending::kIdle:
      return Failure{FailureKind::kTimeout, "did nothing for " + text(limits.idle)};
    case Ending::kDeadline:
      return Failure{FailureKind::kTimeout, "no answer within " + text(limits.timeout)};
    case Ending::kExited:
      break;
  }
  return JudgeStatus(end, command);
}

/// Returns the answer in the bytes that a child sent before it ended well.
Result<std::string> ReadReply(Stream& stream, ChildReply reply) {
  if (stream.bytes.empty()) return Failure{FailureKind::kCrash, "ended without a result"};
  if (stream.overflow) return Failure{FailureKind::kCrash, "sent a result that is too long"};
  if (reply == ChildReply::kText) return std::move(stream.bytes);
  if (auto payload = ParseRecord(stream.bytes)) return *std::move(payload);
  return Failure{FailureKind::kCrash, "sent a damaged result"};
}

std::chrono::nanoseconds ToNanoseconds(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

std::vector<std::string> ChildEnvironment(int threads, bool bind,
                                          const std::vector<std::string>& more) {
  std::vector<std::string> all = {"LC_ALL=C", "OMP_NUM_THREADS=" + std::to_string(threads),
                                  "OMP_DYNAMIC=false"};
  if (bind) all.emplace_back("OMP_PROC_BIND=true");
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Failure ToldToStop() {
  return {FailureKind::kLost, "stopped"};
}

Result<ChildReport> RunChild(const ChildCommand& command, const std::function<bool()>& stop) {
  Check(!command.argv.empty(), "a child command names a program");
  // Orphans of the child become children of this process, which can then find and kill them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto start = Clock::now();
  // If this count grows, the kernel killed for lack of memory.
  const std::int64_t kills = MemoryKills();
  const StartedChild child = StartChild(command);
  Stream record{child.record.get(), command.limits.record_bytes + kRecordOverhead};
  Stream errors{child.errors.get(), command.limits.stderr_bytes, true};
  End end;
  end.ending = Watch(child, command.limits, record, errors, stop);

  ChildReport report;
  rusage usage{};
  end.status = KillAndReap(child.pid, usage);
  end.memory_ran_out = MemoryKills() != kills;
  report.wall = Clock::now() - start;
  report.cpu = ToNanoseconds(usage.ru_utime) + ToNanoseconds(usage.ru_stime);
  end.cpu = report.cpu;
  // Linux gives ru_maxrss in KiB.
  report.peak_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  // All possible writers are dead, so the pipes hold everything that will come.
  while (!record.ended && !record.overflow) {
    const std::size_t before = record.bytes.size();
    Drain(record);
    if (record.bytes.size() == before) break;
  }
  Drain(errors);

  auto failure = Judge(end, command);
  if (!failure) {
    Result<std::string> reply = ReadReply(record, command.reply);
    if (reply.ok()) {
      report.record = std::move(reply).value();
    } else {
      failure = reply.failure();
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
