#include "compiler/base/file.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

/// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

void WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw SystemError("cannot write '" + path + "'", errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void SyncFolder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) {
    throw SystemError("cannot sync folder '" + path + "'", errno);
  }
}

}  // namespace

std::string ReadFile(const std::string& path, std::uint64_t limit) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    throw UserError(SystemError("cannot read '" + path + "'", errno).what());
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw SystemError("cannot stat '" + path + "'", errno);
  if (!S_ISREG(status.st_mode)) throw UserError("'" + path + "' is not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limit) {
    throw UserError("'" + path + "' has " + std::to_string(size) + " bytes; the limit is " +
                    std::to_string(limit));
  }
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SystemError("cannot read '" + path + "'", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void WriteFileAtomic(const std::string& path, std::string_view bytes) {
  // Renaming over a device or a pipe would replace it: run by root, even /dev/null.
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw SystemError("cannot write '" + path + "': it is not a regular file");
  }
  const std::filesystem::path target(path);
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  std::string temporary = folder + "/.msc-XXXXXX";
  const Fd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) throw SystemError("cannot create a file in '" + folder + "'", errno);
  try {
    WriteAll(file.get(), bytes, path);
    if (::fchmod(file.get(), 0644) != 0 || ::fsync(file.get()) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0) {
      throw SystemError("cannot write '" + path + "'", errno);
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  SyncFolder(folder);
}

void MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw SystemError("cannot make folder '" + path + "'", error.value());
}

}  // namespace msc
