// A measuring child that misbehaves in the way its argument names, for child_test.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cost/measure/child.h"
#include "cost/measure/record.h"

namespace {

using msc::cost::FrameRecord;
using msc::cost::kRecordFd;
using msc::cost::WriteRecord;

void Raw(const std::string& bytes) {
  if (::write(kRecordFd, bytes.data(), bytes.size()) < 0) std::exit(3);
}

/// A grandchild in the same process group that would live for a minute.
void SpawnSleeper() {
  if (::fork() == 0) {
    ::sleep(60);
    ::_exit(0);
  }
}

/// As a program without a handler does: a sanitizer would turn the signal into an exit status.
void DieOfSegv() {
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

/// Some microseconds of the processor's time.
void Work() {
  volatile int sum = 0;
  for (int i = 0; i < 10'000; ++i) sum = sum + i;
}

int Misbehave(const std::string& kind) {
  if (kind == "ok") WriteRecord(kRecordFd, "fine");
  if (kind == "segv") DieOfSegv();
  if (kind == "abort") std::abort();
  if (kind == "exit") return 9;
  if (kind == "exit_after_record") {
    WriteRecord(kRecordFd, "fine");
    return 9;
  }
  if (kind == "hang") ::sleep(60);
  if (kind == "ignore_term") {
    std::signal(SIGTERM, SIG_IGN);
    ::sleep(60);
  }
  if (kind == "stop") std::raise(SIGSTOP);
  if (kind == "kill") std::raise(SIGKILL);
  if (kind == "term") std::raise(SIGTERM);
  if (kind == "stop_for_a_while") {
    const pid_t self = ::getpid();
    if (::fork() == 0) {
      ::usleep(150'000);
      ::kill(self, SIGCONT);
      ::_exit(0);
    }
    std::raise(SIGSTOP);
    WriteRecord(kRecordFd, "fine");
  }
  if (kind == "wait_and_work") {
    for (int i = 0; i < 20; ++i) {
      ::usleep(20'000);
      Work();
    }
    WriteRecord(kRecordFd, "fine");
  }
  if (kind == "reserve") {
    constexpr std::size_t kLots = std::size_t{64} << 30U;
    void* const memory =
        ::mmap(nullptr, kLots, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return msc::cost::kExitOutOfMemory;
    WriteRecord(kRecordFd, "fine");
  }
  if (kind == "leave_group") {
    ::setpgid(0, ::getppid());
    ::setsid();
    ::sleep(60);
  }
  if (kind == "spin") {
    volatile bool forever = true;
    while (forever) {
    }
  }
  if (kind == "flood") {
    const std::string line(1000, 'x');
    for (int i = 0; i < 20000; ++i) std::cerr << line << "\n";
    std::cerr << "last words\n";
    WriteRecord(kRecordFd, "fine");
  }
  if (kind == "speak_and_exit") {
    std::cerr << "first line\nno such kernel\n";
    return 1;
  }
  if (kind == "garbage") Raw("what is this");
  if (kind == "truncated") Raw(FrameRecord("fine").substr(0, 14));
  if (kind == "flipped") {
    std::string bytes = FrameRecord("fine");
    bytes.back() ^= 1;
    Raw(bytes);
  }
  if (kind == "twice") Raw(FrameRecord("fine") + FrameRecord("fine"));
  if (kind == "partial_then_segv") {
    Raw(FrameRecord("fine").substr(0, 5));
    DieOfSegv();
  }
  if (kind == "in_pieces") {
    for (const char byte : FrameRecord("fine")) {
      Raw(std::string(1, byte));
      ::usleep(1000);
    }
  }
  if (kind == "long_record") WriteRecord(kRecordFd, std::string(100000, 'y'));
  if (kind == "memory") {
    std::vector<std::unique_ptr<char[]>> kept;
    try {
      for (int i = 0; i < 1000; ++i) {
        kept.push_back(std::make_unique<char[]>(16U << 20U));
      }
    } catch (const std::bad_alloc&) {
      return msc::cost::kExitOutOfMemory;
    }
  }
  if (kind == "big_file") {
    const std::string block(1 << 20U, 'z');
    const int fd = ::open("/tmp/msc_naughty_child", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::unlink("/tmp/msc_naughty_child");
    for (int i = 0; i < 64; ++i) {
      if (::write(fd, block.data(), block.size()) < 0) return 5;
    }
  }
  if (kind == "grandchildren") {
    for (int i = 0; i < 3; ++i) SpawnSleeper();
    WriteRecord(kRecordFd, std::to_string(::getpid()));
  }
  if (kind == "surroundings") {
    std::string text = "env";
    for (char** entry = environ; *entry != nullptr; ++entry) text += std::string(" ") + *entry;
    text += "; fds";
    for (int fd = 0; fd < 64; ++fd) {
      if (::fcntl(fd, F_GETFD) >= 0) text += " " + std::to_string(fd);
    }
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    text += "; core " + std::to_string(limit.rlim_cur);
    text += "; leads its group " + std::to_string(::getpgid(0) == ::getpid() ? 1 : 0);
    sigset_t blocked{};
    ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
    text += "; int blocked " + std::to_string(::sigismember(&blocked, SIGINT));
    cpu_set_t cores{};
    ::sched_getaffinity(0, sizeof cores, &cores);
    text += "; cores " + std::to_string(CPU_COUNT(&cores));
    WriteRecord(kRecordFd, text);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return Misbehave(argv[1]);
}
