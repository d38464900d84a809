#include "compiler/targets/native/run_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

/// The message through the pipe, which arrives whole or not at all.
struct Report {
  enum Kind : int { kNotStarted, kEnded };
  int kind = kEnded;
  int value = 0;  ///< errno, or the status from waitpid
};

/// All that the guard and the program need, made before the fork. After the fork they may only call
/// async-signal-safe functions, because another thread may have held the allocator's lock.
struct Plan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  /// The command that removes the folder; empty = none.
  std::vector<char*> removal = {};
  const char* output = nullptr;
  int report = -1;
  pid_t parent = -1;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  // execve takes char* for historical reasons but does not write.
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

constexpr int kReportFd = 3;

void Send(Report::Kind kind, int value) {
  const Report report{kind, value};
  [[maybe_unused]] const ssize_t written = ::write(kReportFd, &report, sizeof report);
}

/// Closes all that the guard inherited, so that it keeps no lock, pipe or terminal open.
void CloseOthers(int report) {
  const int null = ::open("/dev/null", O_RDWR);
  // Moves the pipe out of the way of the target numbers first.
  constexpr int kFirstFree = 10;
  const int kept = ::fcntl(report, F_DUPFD_CLOEXEC, kFirstFree);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) ::dup2(null, fd);
  ::dup3(kept, kReportFd, O_CLOEXEC);
  if (::syscall(SYS_close_range, kReportFd + 1, ~0U, 0) == 0) return;
  // For kernels before 5.9.
  constexpr int kMaxFds = 65536;
  for (int fd = kReportFd + 1; fd < kMaxFds; ++fd) ::close(fd);
}

[[noreturn]] void BecomeProgram(const Plan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // if the guard itself is killed
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int output = ::open(plan.output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (output >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0) {
    ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  }
  Send(Report::kNotStarted, errno);
  ::_exit(127);
}

/// Signals that end the guard's wait besides the end of the program. The kernel sends kParentDied
/// when the thread that waits for the guard is gone, which happens while its process ends; until
/// the process has ended, getppid may still return its id.
constexpr int kParentDied = SIGTERM;
constexpr int kStop = SIGUSR1;

/// Waits until the program ends, or kParentDied or kStop arrives.
void WaitFor(pid_t program) {
  sigset_t signals{};
  ::sigemptyset(&signals);
  for (const int signal : {SIGCHLD, kParentDied, kStop}) ::sigaddset(&signals, signal);
  while (true) {
    siginfo_t ended{};
    // WNOWAIT keeps the zombie, so that no other process can get its process group id.
    const int rc = ::waitid(P_PID, static_cast<id_t>(program), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (rc == 0 && ended.si_pid == program) return;
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal == kStop) return;
    if (signal != kParentDied) continue;
    ::raise(kParentDied);  // blocked: stays pending for HasDied
    return;
  }
}

bool HasDied(pid_t parent) {
  sigset_t pending{};
  return ::getppid() != parent ||
         (::sigpending(&pending) == 0 && ::sigismember(&pending, kParentDied) == 1);
}

/// Kills the group, waits for all its processes and returns the status of its leader.
int KillAndReap(pid_t program) {
  ::kill(-program, SIGKILL);
  int status = 0;
  while (::waitpid(program, &status, 0) < 0 && errno == EINTR) {
  }
  while (::waitpid(-program, nullptr, 0) > 0 || errno == EINTR) {
  }
  return status;
}

/// Runs the process between this one and the program. Signals are blocked, so that none ends the
/// guard before its work is done.
[[noreturn]] void Guard(const Plan& plan) {
  ::setpgid(0, 0);  // signals from the terminal's group are for the parent
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, kParentDied, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // adopts processes that a killed compiler leaves
  CloseOthers(plan.report);
  // The parent may have died before the guard could be notified.
  if (!HasDied(plan.parent)) {
    const pid_t program = ::fork();
    if (program == 0) BecomeProgram(plan);
    if (program < 0) Send(Report::kNotStarted, errno);
    if (program > 0) {
      ::setpgid(program, program);
      WaitFor(program);
      Send(Report::kEnded, KillAndReap(program));
    }
  }
  if (HasDied(plan.parent) && !plan.removal.empty()) {
    ::execve(plan.removal[0], plan.removal.data(), plan.environment.data());
  }
  ::_exit(0);
}

std::string StartOf(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  std::string text(kMost, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// Returns the next report, or nullopt at the deadline. If the guard was killed, returns a report
/// that the program was killed.
std::optional<Report> Receive(int fd, std::chrono::steady_clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    constexpr std::int64_t kLongest = 1'000'000;
    pollfd polled{fd, POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(std::min(left.count(), kLongest))) <= 0) continue;
    Report report;
    const ssize_t got = ::read(fd, &report, sizeof report);
    if (got < 0 && errno == EINTR) continue;
    if (got == static_cast<ssize_t>(sizeof report)) return report;
    return Report{Report::kEnded, SIGKILL};
  }
}

/// A running guard and the pipe for its reports.
class Guarded {
 public:
  explicit Guarded(Plan plan) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
    read_ = ends[0];
    plan.report = ends[1];
    plan.parent = ::getpid();
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    guard_ = ::fork();
    const int error = errno;
    if (guard_ == 0) Guard(plan);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(plan.report);
    if (guard_ > 0) return;
    ::close(read_);
    throw SystemError(std::string("cannot start '") + plan.argv[0] + "'", error);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    Stop();
    while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::close(read_);
  }
  [[nodiscard]] int reports() const { return read_; }
  /// Makes the guard kill the program and report its status.
  void Stop() const { ::kill(guard_, kStop); }

 private:
  pid_t guard_ = -1;
  int read_ = -1;
};

}  // namespace

ProgramEnd RunProgram(const Program& program, const std::string& output) {
  Check(!program.argv.empty(), "a program has a path");
  const std::vector<std::string> removal = {"/bin/rm", "-rf", "--", program.folder};
  Plan plan{.argv = Pointers(program.argv),
            .environment = Pointers(program.environment),
            .output = output.c_str()};
  if (!program.folder.empty()) plan.removal = Pointers(removal);

  ProgramEnd end;
  Report report;
  {
    const Guarded guarded(std::move(plan));
    using Clock = std::chrono::steady_clock;
    auto told = Receive(guarded.reports(), Clock::now() + program.timeout);
    if (!told) {
      end.timed_out = true;
      guarded.Stop();
      told = Receive(guarded.reports(), Clock::time_point::max());
    }
    report = *told;
  }
  if (report.kind == Report::kNotStarted) {
    throw SystemError("cannot start '" + program.argv[0] + "'", report.value);
  }
  if (WIFSIGNALED(report.value)) end.signal = WTERMSIG(report.value);
  if (WIFEXITED(report.value)) end.status = WEXITSTATUS(report.value);
  end.output = StartOf(output);
  return end;
}

}  // namespace msc
