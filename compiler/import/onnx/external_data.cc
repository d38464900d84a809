#include "compiler/import/onnx/external_data.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {
namespace {

constexpr std::size_t kLocationBytes = 1024;
constexpr int kFileFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  /// Gives up ownership of the descriptor.
  [[nodiscard]] int Release() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] bool ok() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

[[noreturn]] void Reject(const std::string& location, const std::string& why) {
  throw UserError("external data " + QuoteForeign(location) + " " + why);
}

void CheckLocation(const std::string& location) {
  if (location.empty()) Reject(location, "has no file name");
  if (location.size() > kLocationBytes) Reject(location, "has too long a path");
  if (location.find('\0') != std::string::npos) Reject(location, "has a NUL in its path");
  if (location.front() == '/') Reject(location, "must be a path relative to the model");
}

/// Opens `location` with the same guarantees on kernels before 5.6: one component at a time.
Descriptor OpenByComponents(const Descriptor& folder, const std::string& location) {
  Descriptor at(dup(folder.get()));
  std::string_view rest = location;
  while (at.ok()) {
    const std::size_t slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    if (part == "..") {
      errno = EXDEV;
      return Descriptor(-1);
    }
    if (slash == std::string_view::npos)
      return Descriptor(openat(at.get(), part.c_str(), kFileFlags));
    rest.remove_prefix(slash + 1);
    if (part.empty() || part == ".") continue;
    at = Descriptor(openat(at.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

Descriptor OpenBeneath(const Descriptor& folder, const std::string& location) {
  open_how how{};
  how.flags = kFileFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const auto fd = syscall(SYS_openat2, folder.get(), location.c_str(), &how, sizeof(how));
  // Sandboxes return EPERM for unknown system calls.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return OpenByComponents(folder, location);
  return Descriptor(static_cast<int>(fd));
}

void CheckFile(const Descriptor& file, const ExternalPlace& place) {
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) Reject(place.location, "cannot be read");
  if (!S_ISREG(facts.st_mode)) Reject(place.location, "is not a regular file");
  if (facts.st_nlink != 1) Reject(place.location, "has other names (hard links)");
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (place.offset > size || place.length > size - place.offset) {
    Reject(place.location, "has " + std::to_string(size) + " bytes, but the model wants " +
                               std::to_string(place.length) + " from byte " +
                               std::to_string(place.offset));
  }
}

}  // namespace

ExternalFile::ExternalFile(const std::string& folder, ExternalPlace place)
    : place_(std::move(place)) {
  CheckLocation(place_.location);
  const Descriptor root(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.ok()) Reject(place_.location, "cannot be found: no folder " + QuoteForeign(folder));
  Descriptor file = OpenBeneath(root, place_.location);
  if (!file.ok()) {
    const bool outside = errno == EXDEV || errno == ELOOP;
    Reject(place_.location, outside ? "leads out of the model's folder or through a link"
                                    : SystemError("cannot be opened", errno).what());
  }
  CheckFile(file, place_);
  fd_ = file.Release();
}

ExternalFile::~ExternalFile() {
  close(fd_);
}

void ExternalFile::Read(std::span<std::byte> out) const {
  Check(out.size() == place_.length, "the buffer for external data has its length");
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(place_.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) Reject(place_.location, "could not be read to its end");
    done += static_cast<std::size_t>(got);
  }
}

std::shared_ptr<const MappedFile> ExternalFile::Map() const {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0 || facts.st_size <= 0) return nullptr;
  try {
    return std::make_shared<const MappedFile>(fd_, static_cast<std::size_t>(facts.st_size));
  } catch (const SystemError&) {
    return nullptr;
  }
}

std::string ExternalFile::Sha1Hex() const {
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  std::vector<std::byte> piece(kPiece);
  Sha1 hash;
  off_t at = 0;
  while (true) {
    const ssize_t got = pread(fd_, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Reject(place_.location, "could not be read to its end");
    if (got == 0) return hash.Hex();
    hash.Add(std::span(piece).first(static_cast<std::size_t>(got)));
    at += got;
  }
}

std::pair<std::uint64_t, std::uint64_t> ExternalFile::Identity() const {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) Reject(place_.location, "cannot be read");
  return {facts.st_dev, facts.st_ino};
}

void ExternalChecksums::Check(const std::string& location, const std::string& checksum) {
  std::string wanted = checksum;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::size_t kDigits = 40;
  if (wanted.size() != kDigits ||
      wanted.find_first_not_of("0123456789abcdef") != std::string::npos) {
    Reject(location, "has a checksum that is no SHA-1: " + QuoteForeign(checksum));
  }
  const ExternalFile file(folder_, {.location = location, .offset = 0, .length = 0});
  std::string& found = known_[file.Identity()];
  if (found.empty()) found = file.Sha1Hex();
  if (found == wanted) return;
  Reject(location, "is not the file that the model was written with: its SHA-1 is " + found +
                       ", the model's checksum is " + wanted);
}

}  // namespace msc::detail
