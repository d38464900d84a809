#include "compiler/targets/native/kernel_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"

namespace msc {
namespace {

constexpr std::string_view kEntrySuffix = ".so";
constexpr std::string_view kUnfinished = ".msc-";  // of temporary files of WriteFileAtomic
/// Follows the shared object, before the digest of key and object. Loaders ignore both.
constexpr std::string_view kSeal = "mscgym-sealed:";
constexpr std::size_t kDigestSize = 64;
constexpr mode_t kOthersMayWrite = 022;

/// Reads a file that belongs to this user and that others cannot write, without following links;
/// nullopt for other files.
std::optional<std::string> ReadOwn(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat status {};
  std::optional<std::string> bytes;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      (status.st_mode & kOthersMayWrite) == 0) {
    bytes.emplace(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < bytes->size()) {
      const ssize_t got = ::read(fd, bytes->data() + done, bytes->size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    if (done != bytes->size()) bytes.reset();
  }
  ::close(fd);
  return bytes;
}

/// Returns a digest that includes the key: an entry under the name of another one would be called
/// as the wrong kernel.
std::string DigestOf(const std::string& key, std::string_view object) {
  Sha256 hash;
  hash.Add(key + "\n");
  hash.Add(object);
  return hash.Hex();
}

bool IsWhole(const std::string& key, std::string_view bytes) {
  const std::size_t tail = kSeal.size() + kDigestSize;
  if (bytes.size() < tail) return false;
  const std::string_view object = bytes.substr(0, bytes.size() - tail);
  const std::string_view seal = bytes.substr(object.size(), kSeal.size());
  return seal == kSeal && bytes.substr(bytes.size() - kDigestSize) == DigestOf(key, object);
}

}  // namespace

KernelCache::KernelCache(std::string folder) : folder_(std::move(folder)) {
  const std::filesystem::path path(folder_);
  if (path.has_parent_path()) MakeFolders(path.parent_path().string());
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    throw SystemError("cannot make folder '" + folder_ + "'", errno);
  }
  struct stat status {};
  if (::lstat(folder_.c_str(), &status) != 0) {
    throw SystemError("cannot look at folder '" + folder_ + "'", errno);
  }
  const std::string advice = "; set MSCGYM_CACHE to a folder of your own";
  if (!S_ISDIR(status.st_mode)) {
    throw UserError("kernel cache '" + folder_ + "' is not a folder" + advice);
  }
  if (status.st_uid != ::geteuid()) {
    throw UserError("kernel cache '" + folder_ + "' belongs to another user" + advice);
  }
  if ((status.st_mode & kOthersMayWrite) != 0) {
    throw UserError("other users may write to kernel cache '" + folder_ +
                    "': remove it, or make it yours alone (chmod 700)" + advice);
  }
}

std::string KernelCache::PathOf(const std::string& key) const {
  return folder_ + "/" + key + std::string(kEntrySuffix);
}

std::shared_ptr<void> KernelCache::Load(const std::string& key) {
  const std::string path = PathOf(key);
  const auto bytes = ReadOwn(path);
  if (!bytes || !IsWhole(key, *bytes)) {
    ::unlink(path.c_str());
    return nullptr;
  }
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    const std::lock_guard lock(mutex_);
    last_error_ = why == nullptr ? "unknown" : why;
    return nullptr;
  }
  return {handle, [](void* opened) { ::dlclose(opened); }};
}

void KernelCache::Put(const std::string& key, std::string_view object) {
  std::string bytes(object);
  bytes += kSeal;
  bytes += DigestOf(key, object);
  WriteFileAtomic(PathOf(key), bytes);
}

void KernelCache::Shrink(std::int64_t bytes) {
  namespace fs = std::filesystem;
  struct Entry {
    fs::file_time_type used;
    std::int64_t bytes = 0;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  // Another process may remove entries meanwhile, so unreadable ones are skipped.
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code gone;
    const auto used = fs::last_write_time(it->path(), gone);
    if (gone) continue;
    if (name.starts_with(kUnfinished)) {
      // Writing takes moments, so the process that began this entry was killed.
      if (now - used > std::chrono::hours(24)) fs::remove(it->path(), gone);
    } else if (name.ends_with(kEntrySuffix)) {
      const auto size = static_cast<std::int64_t>(fs::file_size(it->path(), gone));
      if (gone) continue;
      total += size;
      entries.push_back({used, size, it->path()});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= bytes) return;
    std::error_code gone;
    fs::remove(entry.path, gone);
    total -= entry.bytes;
  }
}

std::string KernelCache::LastError() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace msc
