// Ends the program with an error if a memory limit would keep OpenBLAS from starting.
//
// Armadillo, which agents use, links OpenBLAS, so OpenBLAS starts when the program is loaded,
// before main and before the constructors here. It maps a buffer for each of its threads. If the
// kernel refuses (ulimit -v, ulimit -d, strict overcommit), OpenBLAS retries forever: the program
// would hang and keep a core busy. Functions in .preinit_array run before the constructors of all
// libraries. The one here maps the same memory first and reports an error if it cannot. The C
// library may not be initialized at that point, so the function calls the kernel and prints by
// itself.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/base/address_space.h"
#include "compiler/base/sanitizer.h"
#include "gym/app/command.h"

namespace msc::gym {
namespace {

constexpr int kMaxThreads = 128;  // most threads that the build of OpenBLAS supports
constexpr std::size_t kRoom = std::size_t{64} << 20U;  // for the rest of the startup

std::string_view Variable(char** environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return {};
}

/// Parses like atoi; returns 0 if there is no positive number.
int CountIn(std::string_view text) {
  int count = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || count > kMaxThreads) break;
    count = count * 10 + (c - '0');
  }
  return count;
}

/// Returns the number of threads for which OpenBLAS allocates buffers, as its blas_get_cpu_number
/// does.
int OpenBlasThreads(char** environment) {
  cpu_set_t cores{};
  int count = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : kMaxThreads;
  const std::string_view bind = Variable(environment, "OMP_PROC_BIND");
  // If OpenMP binds threads, OpenBLAS ignores the affinity mask.
  if (!bind.empty() && bind != "false") count = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  for (const char* const name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const int wanted = CountIn(Variable(environment, name));
    if (wanted == 0) continue;
    count = wanted < count ? wanted : count;
    break;
  }
  return count < kMaxThreads ? count : kMaxThreads;
}

int IsOpenBlas(dl_phdr_info* object, std::size_t /*size*/, void* /*found*/) {
  return object->dlpi_name != nullptr && std::strstr(object->dlpi_name, "openblas") != nullptr ? 1
                                                                                               : 0;
}

/// Returns whether so many buffers can be mapped, each separately as OpenBLAS does.
bool HasRoom(int buffers) {
  std::array<void*, kMaxThreads + 1> mapped{};
  bool room = true;
  int count = 0;
  const auto map = [](std::size_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  for (; room && count < buffers; ++count) {
    mapped.at(static_cast<std::size_t>(count)) = map(kOpenBlasBufferBytes);
    room = mapped.at(static_cast<std::size_t>(count)) != MAP_FAILED;
  }
  void* const rest = room ? map(kRoom) : MAP_FAILED;
  if (rest != MAP_FAILED) ::munmap(rest, kRoom);
  for (int i = 0; i < count; ++i) {
    void* const buffer = mapped.at(static_cast<std::size_t>(i));
    if (buffer != MAP_FAILED) ::munmap(buffer, kOpenBlasBufferBytes);
  }
  return rest != MAP_FAILED;
}

void Print(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void PrintNumber(std::int64_t number) {
  std::array<char, 20> digits{};
  std::size_t at = digits.size();
  do {
    digits.at(--at) = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  Print({digits.data() + at, digits.size() - at});
}

void GuardOpenBlas(int /*argc*/, char** /*argv*/, char** environment) {
  if (kSanitized || ::dl_iterate_phdr(IsOpenBlas, nullptr) == 0) return;
  const int threads = OpenBlasThreads(environment);
  if (HasRoom(threads + 1)) return;
  Print("mscgym: the memory of this process is limited (ulimit -v or -d) to less than the ");
  PrintNumber(LeastAddressSpace(threads) >> 20);
  Print(" MB that it needs with OpenBLAS on ");
  PrintNumber(threads);
  Print(threads == 1 ? " thread: raise the limit\n"
                     : " threads: raise the limit, or set OPENBLAS_NUM_THREADS=1\n");
  ::_exit(kExitFailure);
}

using Preinit = void (*)(int, char**, char**);
[[gnu::section(".preinit_array"), gnu::used]] const Preinit kPreinit = GuardOpenBlas;

}  // namespace
}  // namespace msc::gym
