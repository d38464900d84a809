#include "cost/farm/segments.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace msc::cost {
namespace {

namespace fs = std::filesystem;

/// Identifies a file by device and inode, independently of its name.
using FileId = std::pair<dev_t, ino_t>;

/// Returns how Open MPI begins the file names: "<component>_segment.<host>.<user>." with the
/// component `vader` before version 5 and `sm` since. The host matters because processes of other
/// machines, which are not visible here, may share the folder.
std::vector<std::string> Prefixes() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  const std::string host = name.data();
  std::vector<std::string> prefixes;
  for (const std::string& node : {host, host.substr(0, host.find('.'))}) {
    for (const char* const component : {"vader", "sm"}) {
      prefixes.push_back(std::string(component) + "_segment." + node + "." +
                         std::to_string(::geteuid()) + ".");
    }
  }
  return prefixes;
}

struct Segment {
  std::string path;
  FileId id;
};

std::vector<Segment> Segments(const std::string& folder) {
  const std::vector<std::string> prefixes = Prefixes();
  std::vector<Segment> segments;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool ours = std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
      return name.starts_with(prefix);
    });
    struct stat status {};
    if (ours && ::lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == ::geteuid()) {
      segments.push_back({it->path().string(), {status.st_dev, status.st_ino}});
    }
  }
  return segments;
}

/// Removes from `unused` the files that a process has open.
std::error_code TakeOutOpen(const fs::path& process, std::set<FileId>& unused) {
  std::error_code error;
  for (fs::directory_iterator it(process / "fd", error), end; !error && it != end;
       it.increment(error)) {
    struct stat status {};
    if (::stat(it->path().c_str(), &status) == 0) unused.erase({status.st_dev, status.st_ino});
  }
  return error;
}

/// Removes from `unused` the files that a process has mapped, by their names.
std::error_code TakeOutMapped(const fs::path& process, std::set<FileId>& unused) {
  errno = 0;
  std::ifstream file(process / "maps");
  for (std::string line; std::getline(file, line);) {
    const std::size_t path = line.find('/');
    struct stat status {};
    if (path != std::string::npos && ::stat(line.c_str() + path, &status) == 0) {
      unused.erase({status.st_dev, status.st_ino});
    }
  }
  return file.is_open() ? std::error_code() : std::error_code(errno, std::generic_category());
}

bool IsRefused(const std::error_code& error) {
  return error == std::errc::permission_denied || error == std::errc::operation_not_permitted;
}

/// Returns whether a process holds no files any more: it is gone or waits to be reaped.
bool HasEnded(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  if (!std::getline(file, line)) return true;
  const std::size_t state = line.rfind(") ");  // after the process name, which may contain anything
  return state != std::string::npos && line.find_first_of("ZX", state + 2) == state + 2;
}

/// Returns the files of `unused` that no process of this user has. Reads descriptors before
/// mappings, because a process opens a segment, maps it and closes the descriptor only then.
std::set<FileId> WithoutUsers(std::set<FileId> unused) {
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat status {};
    if (::stat(it->path().c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    // A process that ends meanwhile, or a kernel thread, has no files to show.
    const std::error_code open = TakeOutOpen(it->path(), unused);
    const std::error_code mapped = TakeOutMapped(it->path(), unused);
    if (!IsRefused(open) && !IsRefused(mapped)) continue;
    // Sandboxes hide process 1, their first process, which is no rank of a job.
    if (name != "1" && !HasEnded(it->path())) return {};
  }
  return error ? std::set<FileId>() : unused;
}

}  // namespace

std::size_t SweepSegments(const std::string& folder) {
  const std::vector<Segment> segments = Segments(folder);
  if (segments.empty()) return 0;
  std::set<FileId> found;
  for (const Segment& segment : segments) found.insert(segment.id);
  const std::set<FileId> unused = WithoutUsers(std::move(found));
  std::size_t removed = 0;
  for (const Segment& segment : segments) {
    if (unused.contains(segment.id) && ::unlink(segment.path.c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace msc::cost
