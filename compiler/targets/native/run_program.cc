#include "compiler/targets/native/run_program.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  // posix_spawn takes char* for historical reasons and does not write.
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// What posix_spawn is told besides the program.
class SpawnSettings {
 public:
  explicit SpawnSettings(const std::string& output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, output.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL, 0600);
    ::posix_spawn_file_actions_adddup2(&files_, STDOUT_FILENO, STDERR_FILENO);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* files() const { return &files_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

std::string StartOf(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  std::string text(kMost, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

ProgramEnd RunProgram(const Program& program, const std::string& output) {
  Check(!program.argv.empty(), "a program has a path");
  const SpawnSettings settings(output);
  const std::vector<char*> argv = Pointers(program.argv);
  const std::vector<char*> environment = Pointers(program.environment);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], settings.files(), settings.attributes(),
                                  argv.data(), environment.data());
  if (error != 0) throw SystemError("cannot start '" + program.argv[0] + "'", error);

  ProgramEnd end;
  const auto deadline = std::chrono::steady_clock::now() + program.timeout;
  int status = 0;
  for (auto pause = std::chrono::milliseconds(1);;) {
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    if (got == pid) break;
    if (got < 0 && errno != EINTR)
      throw SystemError("cannot wait for '" + program.argv[0] + "'", errno);
    if (!end.timed_out && std::chrono::steady_clock::now() >= deadline) {
      end.timed_out = true;
      ::kill(-pid, SIGKILL);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(10));
  }
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  end.output = StartOf(output);
  return end;
}

}  // namespace msc
