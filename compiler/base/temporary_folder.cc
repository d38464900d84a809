#include "compiler/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

int OpenFolder(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Returns whether `path` still names the folder that was opened; false if a sweep removed it
/// meanwhile.
bool IsAt(const std::string& path, int folder) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(folder, &opened) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

int Flock(int folder, int operation) {
  int done = 0;
  do {
    done = ::flock(folder, operation);
  } while (done != 0 && errno == EINTR);
  return done;
}

/// Locks a folder that was just created. Returns its descriptor, -1 if the file system does not
/// lock folders, or nullopt if a sweep took the folder for a leftover and removed it before it was
/// locked.
std::optional<int> Lock(const std::string& path) {
  const int folder = OpenFolder(path);
  if (folder < 0) {
    if (errno == ENOENT) return std::nullopt;
    throw SystemError("cannot open folder '" + path + "'", errno);
  }
  if (Flock(folder, LOCK_EX) != 0) {
    ::close(folder);
    return -1;
  }
  if (IsAt(path, folder)) return folder;
  ::close(folder);
  return std::nullopt;
}

void Remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void SweepOne(const std::string& path) {
  const int folder = OpenFolder(path);
  if (folder < 0) return;
  struct stat status {};
  // A failed lock may also mean that the file system does not lock folders. Then it is unknown
  // whether a process uses this one, and it stays.
  if (::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() &&
      Flock(folder, LOCK_EX | LOCK_NB) == 0 && IsAt(path, folder)) {
    Remove(path);
  }
  ::close(folder);
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& parent, const std::string& prefix) {
  for (std::optional<int> lock; !lock;) {
    path_ = parent + "/" + prefix + "XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      throw SystemError("cannot make a folder in '" + parent + "'", errno);
    }
    lock = Lock(path_);
    lock_ = lock.value_or(-1);
  }
}

TemporaryFolder::~TemporaryFolder() {
  Remove(path_);
  if (lock_ >= 0) ::close(lock_);
}

void SweepTemporaryFolders(const std::string& parent, const std::string& prefix) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) SweepOne(it->path().string());
  }
}

}  // namespace msc
