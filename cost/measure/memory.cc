#include "cost/measure/memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "cost/measure/machine.h"

namespace msc::cost {
namespace {

/// A version of control groups: its usual mount points and the names of its files.
struct Version {
  std::vector<std::string> mounts;
  std::string limit;   ///< in bytes, or a word for "no limit"
  std::string events;  ///< contains a line "oom_kill N"
};

const Version& First() {
  static const Version version{
      {"/sys/fs/cgroup/memory"}, "memory.limit_in_bytes", "memory.oom_control"};
  return version;
}

const Version& Second() {
  static const Version version{
      {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}, "memory.max", "memory.events"};
  return version;
}

bool Lists(std::string_view controllers, std::string_view wanted) {
  std::istringstream stream{std::string(controllers)};
  for (std::string name; std::getline(stream, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

/// Returns the folders of this process's group and of its parents, innermost first. Some may not
/// exist, for example inside of a container.
std::vector<std::string> GroupFolders(const std::string& root, const Version& version) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::vector<std::string> folders;
  for (std::string line; std::getline(file, line);) {
    // "4:memory:/path", or "0::/path" in version 2
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_second = &version == &Second();
    if (is_second ? !controllers.empty() : !Lists(controllers, "memory")) continue;
    for (const std::string& mount : version.mounts) {
      std::string path = line.substr(second + 1);
      for (;;) {
        while (path.ends_with('/')) path.pop_back();
        folders.push_back(root + mount + path);
        const std::size_t slash = path.rfind('/');
        if (slash == path.npos) break;
        path.resize(slash);
      }
    }
  }
  return folders;
}

/// Returns the number that a file begins with; -1 if there is none.
std::int64_t FirstNumber(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? number : -1;
}

/// Returns the number after `name` at the start of a line; -1 if there is none.
std::int64_t NumberOf(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    std::int64_t number = -1;
    if (words >> first >> number && first == name) return number;
  }
  return -1;
}

}  // namespace

std::int64_t UsableMemory(const std::string& root) {
  std::int64_t usable = ReadMachine(root).memory_bytes;
  for (const Version* version : {&First(), &Second()}) {
    for (const std::string& folder : GroupFolders(root, *version)) {
      const std::int64_t limit = FirstNumber(folder + "/" + version->limit);
      if (limit > 0) usable = usable == 0 ? limit : std::min(usable, limit);
    }
  }
  return usable;
}

std::int64_t MemoryShareMb(std::int64_t workers, const std::string& root) {
  constexpr std::int64_t kOneIn = 5;  // this part is left to this process and to others
  const std::int64_t usable = UsableMemory(root);
  if (usable == 0) return 0;
  const std::int64_t share = (usable - usable / kOneIn) / std::max<std::int64_t>(workers, 1);
  return std::max<std::int64_t>(share >> 20U, 1);
}

std::int64_t MemoryKills(const std::string& root) {
  for (const Version* version : {&Second(), &First()}) {
    for (const std::string& folder : GroupFolders(root, *version)) {
      const std::int64_t kills = NumberOf(folder + "/" + version->events, "oom_kill");
      if (kills >= 0) return kills;
    }
  }
  return std::max<std::int64_t>(NumberOf(root + "/proc/vmstat", "oom_kill"), 0);
}

}  // namespace msc::cost
