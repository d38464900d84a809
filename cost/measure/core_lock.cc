#include "cost/measure/core_lock.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

Descriptor OpenLockFile(const std::string& path) {
  // First without O_CREAT: in a sticky folder such as /tmp, the kernel may reject O_CREAT on a file
  // of another user, although flock only needs read access.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) {
    constexpr mode_t kReadable = 0644;
    fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kReadable);
  }
  if (fd < 0) throw SystemError("cannot open the lock file '" + path + "'", errno);
  return Descriptor(fd);
}

}  // namespace

std::vector<int> AllCores() {
  std::vector<int> cores(static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF))));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

std::optional<CoreLock> LockCores(const std::string& folder, std::vector<int> cores, CoreUse use,
                                  const std::function<bool()>& stop) {
  // All processes lock cores in the same order, so no two wait for each other.
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  constexpr std::chrono::milliseconds kPatience{5};
  CoreLock lock;
  for (const int core : cores) {
    const std::string path = folder + "/mscgym-core-" + std::to_string(core) + ".lock";
    Descriptor file = OpenLockFile(path);
    const int operation = (use == CoreUse::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
    while (::flock(file.get(), operation) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        throw SystemError("cannot lock '" + path + "'", errno);
      }
      if (stop && stop()) return std::nullopt;
      std::this_thread::sleep_for(kPatience);
    }
    lock.files_.push_back(std::move(file));
  }
  return lock;
}

}  // namespace msc::cost
