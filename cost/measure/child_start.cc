#include "cost/measure/child_start.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/sanitizer.h"
#include "cost/measure/record.h"

namespace msc::cost {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Descriptor::~Descriptor() {
  Close();
}

void Descriptor::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

namespace {

/// Step of setting up a child. If it fails, the child sends it to the parent as a number.
enum class Stage : int { kDescriptors, kLimits, kCores, kFolder, kExecute };

const char* Text(Stage stage) {
  constexpr std::array kTexts = {"arrange descriptors for", "set limits for", "choose cores for",
                                 "enter the working directory of", "execute"};
  return kTexts.at(static_cast<std::size_t>(stage));
}

struct StartError {
  Stage stage = Stage::kExecute;
  int error_number = 0;
};

struct PipeEnds {
  Descriptor read;
  Descriptor write;
};

PipeEnds MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

void SetNonBlocking(const Descriptor& fd) {
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
    throw SystemError("cannot set up a pipe", errno);
  }
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  // execve takes char* for historical reasons and does not write.
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Everything that the child needs between fork and exec, made before the fork. In between, the
/// child may only call async-signal-safe functions, because another thread may have held the
/// allocator's lock.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const ChildCommand* command = nullptr;
  cpu_set_t cores{};
  int record = -1;
  int errors = -1;
  int report = -1;
  pid_t parent = -1;
};

constexpr int kReportFd = kRecordFd + 1;

[[noreturn]] void Report(Stage stage, int fd) {
  const StartError error{stage, errno};
  [[maybe_unused]] const ssize_t written = ::write(fd, &error, sizeof error);
  ::_exit(127);
}

/// Sets the soft limit, and the hard limit `grace` above it. A lower existing hard limit remains,
/// because hard limits can only be lowered.
void SetLimit(__rlimit_resource_t resource, std::int64_t value, std::int64_t grace = 0) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) Report(Stage::kLimits, kReportFd);
  const rlimit limit{std::min(static_cast<rlim_t>(value), now.rlim_max),
                     std::min(static_cast<rlim_t>(value + grace), now.rlim_max)};
  if (::setrlimit(resource, &limit) != 0) Report(Stage::kLimits, kReportFd);
}

void ArrangeDescriptors(const ChildPlan& plan) {
  // First move the descriptors away from their final numbers, since one may have the number of
  // another.
  constexpr int kFirstFree = 10;
  const int null = ::fcntl(::open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, kFirstFree);
  const int record = ::fcntl(plan.record, F_DUPFD_CLOEXEC, kFirstFree);
  const int errors = ::fcntl(plan.errors, F_DUPFD_CLOEXEC, kFirstFree);
  const int report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, kFirstFree);
  if (null < 0 || record < 0 || errors < 0 || report < 0) Report(Stage::kDescriptors, plan.report);
  const bool text = plan.command->reply == ChildReply::kText;
  if (::dup2(null, STDIN_FILENO) < 0 || ::dup2(text ? record : null, STDOUT_FILENO) < 0 ||
      ::dup2(errors, STDERR_FILENO) < 0 || ::dup2(record, kRecordFd) < 0 ||
      ::dup3(report, kReportFd, O_CLOEXEC) < 0) {
    Report(Stage::kDescriptors, report);
  }
  if (text) ::close(kRecordFd);
  constexpr unsigned kFirstOther = kReportFd + 1;
  if (::syscall(SYS_close_range, kFirstOther, ~0U, 0) == 0) return;
  // Kernels before 5.9 lack close_range.
  constexpr int kMaxFds = 65536;
  for (int fd = kFirstOther; fd < kMaxFds; ++fd) ::close(fd);
}

[[noreturn]] void BecomeChild(const ChildPlan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // The parent may have died before PR_SET_PDEATHSIG took effect.
  if (::getppid() != plan.parent) ::_exit(127);
  // exec resets signal handlers, but keeps ignored and blocked signals.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  ArrangeDescriptors(plan);
  if (!plan.command->cores.empty() && ::sched_setaffinity(0, sizeof plan.cores, &plan.cores) != 0) {
    Report(Stage::kCores, kReportFd);
  }
  const ChildLimits& limits = plan.command->limits;
  SetLimit(RLIMIT_CORE, 0);
  SetLimit(RLIMIT_FSIZE, limits.file_bytes);
  SetLimit(RLIMIT_NOFILE, limits.open_files);
  // The soft limit sends SIGXCPU, which names the reason; the hard limit sends SIGKILL, which does
  // not.
  if (limits.cpu_seconds > 0) SetLimit(RLIMIT_CPU, limits.cpu_seconds, 5);
  if (limits.memory_bytes > 0 && !kSanitized) SetLimit(RLIMIT_DATA, limits.memory_bytes);
  const std::string& folder = plan.command->folder;
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) Report(Stage::kFolder, kReportFd);
  ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  Report(Stage::kExecute, kReportFd);
}

ChildPlan MakePlan(const ChildCommand& command) {
  ChildPlan plan;
  plan.command = &command;
  plan.argv = Pointers(command.argv);
  plan.environment = Pointers(command.environment);
  CPU_ZERO(&plan.cores);
  for (const int core : command.cores) {
    Check(core >= 0 && core < CPU_SETSIZE, "a core number is one that the system can have");
    CPU_SET(static_cast<std::size_t>(core), &plan.cores);
  }
  plan.parent = ::getpid();
  return plan;
}

}  // namespace

StartedChild StartChild(const ChildCommand& command) {
  ChildPlan plan = MakePlan(command);
  PipeEnds record = MakePipe();
  PipeEnds errors = MakePipe();
  PipeEnds report = MakePipe();
  SetNonBlocking(record.read);
  SetNonBlocking(errors.read);
  plan.record = record.write.get();
  plan.errors = errors.write.get();
  plan.report = report.write.get();

  const pid_t pid = ::fork();
  if (pid < 0) throw SystemError("cannot start '" + command.argv[0] + "'", errno);
  if (pid == 0) BecomeChild(plan);
  // Parent and child both set the group, so that it exists before either needs it.
  ::setpgid(pid, pid);
  record.write.Close();
  errors.write.Close();
  report.write.Close();
  StartError error;
  ssize_t got = 0;
  do {
    got = ::read(report.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof error)) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw SystemError(std::string("cannot ") + Text(error.stage) + " '" + command.argv[0] + "'",
                      error.error_number);
  }
  return {pid, std::move(record.read), std::move(errors.read)};
}

}  // namespace msc::cost
