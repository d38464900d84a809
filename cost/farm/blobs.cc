#include "cost/farm/blobs.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"

namespace msc::cost {
namespace {

constexpr std::size_t kDigits = 64;
constexpr const char* kUnfinished = ".blob-";  ///< prefix of unfinished files

bool IsName(std::string_view name) {
  return name.size() == kDigits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

/// Replaces a file in one step for readers. Does not sync it to disk: a power cut ends the run,
/// which makes blobs worthless, and readers check them anyway.
void Replace(const std::string& folder, const std::string& path, std::string_view bytes) {
  std::string temporary = folder + "/" + kUnfinished + "XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) throw SystemError("cannot create a file in '" + folder + "'", errno);
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno != EINTR) error = errno;
    if (done > 0) bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  throw SystemError("cannot write '" + path + "'", error);
}

bool Holds(const std::string& path, std::string_view bytes) {
  std::error_code none;
  if (std::filesystem::file_size(path, none) != bytes.size() || none) return false;
  try {
    return ReadFile(path) == bytes;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

BlobFolder::BlobFolder(std::string path) : path_(std::move(path)) {
  MakeFolders(path_);
}

std::string BlobFolder::PathOf(const std::string& name) const {
  Check(IsName(name), "a blob is named by its hash");  // a hash cannot leave the folder
  return path_ + "/" + name;
}

std::string BlobFolder::Put(std::string_view bytes) const {
  std::string name = Sha256Hex(bytes);
  const std::string path = PathOf(name);
  // Compare the bytes of an existing file: a run that was killed may have left a damaged one, which
  // every reader would reject.
  if (!Holds(path, bytes)) Replace(path_, path, bytes);
  return name;
}

std::string BlobFolder::Get(const std::string& name) const {
  const std::string path = PathOf(name);
  std::string bytes;
  try {
    bytes = ReadFile(path);
  } catch (const UserError& error) {
    throw SystemError(error.what());  // only the farm names blobs, so this is no user error
  }
  if (Sha256Hex(bytes) != name) throw SystemError("'" + path + "' is damaged");
  return bytes;
}

void BlobFolder::Clear() const {
  std::error_code error;
  for (std::filesystem::directory_iterator it(path_, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (IsName(name) || name.starts_with(kUnfinished)) {
      std::filesystem::remove(it->path(), ignored);
    }
  }
}

}  // namespace msc::cost
