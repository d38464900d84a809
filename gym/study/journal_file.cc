#include "gym/study/journal_file.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30U;

std::string FolderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Syncs the folder of a new file: a file is durable only if its directory entry is.
void SyncFolderOf(const std::string& path) {
  const std::string folder = FolderOf(path);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int open_error = errno;
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int error = fd < 0 ? open_error : errno;
  if (fd >= 0) ::close(fd);
  if (!synced) throw SystemError("cannot sync folder '" + folder + "'", error);
}

void WriteAt(int fd, std::uint64_t offset, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw SystemError("cannot write '" + path + "'", errno);
    if (done == 0) throw SystemError("cannot write '" + path + "'", ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

/// Returns the process that holds the flock of an open file, from /proc/locks. Empty if the kernel
/// does not list it, as for a file system without plain device numbers or another pid namespace.
std::string HolderOf(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return "";
  std::ostringstream wanted;
  wanted.fill('0');
  wanted << std::hex;
  wanted.width(2);
  wanted << major(status.st_dev) << ':';
  wanted.width(2);
  wanted << minor(status.st_dev) << ':' << std::dec << status.st_ino;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string how;
    std::string access;
    std::string pid;
    std::string file;
    words >> number >> kind >> how >> access >> pid >> file;
    if (kind == "FLOCK" && file == wanted.str()) return pid;
  }
  return "";
}

class RealFile final : public JournalFile {
 public:
  RealFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~RealFile() override { ::close(fd_); }
  RealFile(const RealFile&) = delete;
  RealFile& operator=(const RealFile&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::string Path() const override { return path_; }

  [[nodiscard]] std::string Read() override {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) throw SystemError("cannot read '" + path_ + "'", errno);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > kMaxBytes) throw UserError("'" + path_ + "' is too large for a journal");
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got =
          ::pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw SystemError("cannot read '" + path_ + "'", errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }

  void Write(std::uint64_t offset, std::string_view bytes) override {
    WriteAt(fd_, offset, bytes, path_);
  }

  void Truncate(std::uint64_t size) override {
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
      throw SystemError("cannot cut '" + path_ + "'", errno);
    }
  }

  void Sync() override {
    if (::fdatasync(fd_) != 0) throw SystemError("cannot sync '" + path_ + "'", errno);
  }

  std::string KeepTorn(std::string_view bytes) override {
    for (int n = 1;; ++n) {
      std::string beside = path_ + ".torn." + std::to_string(n);
      const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      if (fd < 0 && errno == EEXIST) continue;
      if (fd < 0) throw SystemError("cannot create '" + beside + "'", errno);
      const RealFile copy(beside, fd);
      WriteAt(fd, 0, bytes, beside);
      if (::fsync(fd) != 0) throw SystemError("cannot sync '" + beside + "'", errno);
      SyncFolderOf(path_);
      return beside;
    }
  }

 private:
  std::string path_;
  int fd_;
};

void LockFor(int fd, const std::string& path, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw SystemError("cannot lock '" + path + "'", errno);
    if (std::chrono::steady_clock::now() >= deadline) {
      const std::string holder = HolderOf(fd);
      throw SystemError("'" + path + "' is being written by " +
                        (holder.empty() ? "another process" : "process " + holder) +
                        "; wait for it or stop it");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
}

}  // namespace

std::unique_ptr<JournalFile> OpenJournalFile(const std::string& path,
                                             std::chrono::milliseconds patience) {
  // O_NONBLOCK: opening a named pipe must not wait for its other end.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) throw SystemError("cannot open '" + path + "'", errno);
  auto file = std::make_unique<RealFile>(path, fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw SystemError("cannot open '" + path + "'", errno);
  if (!S_ISREG(status.st_mode)) throw UserError("'" + path + "' is not a regular file");
  LockFor(fd, path, patience);
  SyncFolderOf(path);
  return file;
}

}  // namespace msc::gym
