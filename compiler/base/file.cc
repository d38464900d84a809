#include "compiler/base/file.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

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
  /// Gives up ownership.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

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

std::string FolderOf(const std::string& path) {
  const std::filesystem::path target(path);
  return target.has_parent_path() ? target.parent_path().string() : ".";
}

void SyncFolder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) {
    throw SystemError("cannot sync folder '" + path + "'", errno);
  }
}

}  // namespace

InputFile::InputFile(const std::string& path, std::uint64_t limit) : path_(path) {
  // O_NONBLOCK: otherwise opening a named pipe would wait for a writer.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    throw UserError(SystemError("cannot read '" + path + "'", errno).what());
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw SystemError("cannot stat '" + path + "'", errno);
  if (!S_ISREG(status.st_mode)) throw UserError("'" + path + "' is not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ > limit) {
    throw UserError("'" + path + "' has " + std::to_string(size_) + " bytes; the limit is " +
                    std::to_string(limit));
  }
  fd_ = file.Release();
}

InputFile::~InputFile() {
  ::close(fd_);
}

std::size_t InputFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SystemError("cannot read '" + path_ + "'", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string ReadFile(const std::string& path, std::uint64_t limit) {
  const InputFile file(path, limit);
  std::string bytes(file.size(), '\0');
  bytes.resize(file.Read(0, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  // Rename would replace a device or a pipe by a regular file; as root, even /dev/null.
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw SystemError("cannot write '" + path_ + "': it is not a regular file");
  }
  temporary_ = FolderOf(path_) + "/.msc-XXXXXX";
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) throw SystemError("cannot create a file in '" + FolderOf(path_) + "'", errno);
}

AtomicFile::~AtomicFile() {
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::Append(std::string_view bytes) {
  WriteAll(fd_, bytes, path_);
  // Start writing large pieces to the disk now, so that Commit waits less. This is a hint; a file
  // system that ignores it writes the data later.
  constexpr std::size_t kLarge = std::size_t{1} << 20U;
  if (bytes.size() < kLarge) return;
  const off_t end = ::lseek(fd_, 0, SEEK_CUR);
  const auto size = static_cast<off_t>(bytes.size());
  (void)::sync_file_range(fd_, end - size, size, SYNC_FILE_RANGE_WRITE);
}

void AtomicFile::Commit() {
  if (::fchmod(fd_, 0644) != 0 || ::fsync(fd_) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw SystemError("cannot write '" + path_ + "'", errno);
  }
  temporary_.clear();
  SyncFolder(FolderOf(path_));
}

void WriteFileAtomic(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.Append(bytes);
  file.Commit();
}

void CheckWritable(const std::string& path) {
  if (!path.empty()) const AtomicFile trial(path);
}

ScratchFile::~ScratchFile() {
  if (fd_ >= 0) ::close(fd_);
}

void ScratchFile::Write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto refuse = [&]() -> SystemError {
    return {"cannot keep data in '" + folder_ + "'; TMPDIR may name another folder", errno};
  };
  if (fd_ < 0) {
    const char* given = std::getenv("TMPDIR");
    folder_ = given != nullptr && *given != '\0' ? given : "/var/tmp";
    std::string name = folder_ + "/.msc-XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) throw refuse();
    ::unlink(name.c_str());
  }
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw refuse();
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

void ScratchFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && fd_ >= 0 && errno == EINTR) continue;
    if (got < 0 && fd_ >= 0) throw SystemError("cannot read back from '" + folder_ + "'", errno);
    Check(got > 0, "what is read of a scratch file was written");
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw SystemError("cannot make folder '" + path + "'", error.value());
}

}  // namespace msc
