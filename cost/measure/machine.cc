#include "cost/measure/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/runtime/threads.h"

namespace msc::cost {
namespace {

constexpr std::string_view kSpace = " \t\r\n\"";

std::string Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

/// Returns the text after the first "name<separator>" at the start of a line; empty if there is
/// none.
std::string FirstEntry(const std::string& path, std::string_view name, char separator) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    if (Trim(std::string_view(line).substr(0, at)) == name) {
      return Trim(std::string_view(line).substr(at + 1));
    }
  }
  return "";
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return Trim(line);
}

std::vector<std::string> SortedWords(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  std::sort(words.begin(), words.end());
  return words;
}

/// Returns the bytes of a text such as "16384 kB"; 0 if it does not begin with a number.
std::int64_t KibibytesToBytes(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number * 1024;
}

}  // namespace

MachineFacts ReadMachine(const std::string& root) {
  MachineFacts facts;
  const std::string cpuinfo = root + "/proc/cpuinfo";
  facts.cpu = FirstEntry(cpuinfo, "model name", ':');
  facts.cpu_flags = SortedWords(FirstEntry(cpuinfo, "flags", ':'));
  facts.virtual_machine =
      std::binary_search(facts.cpu_flags.begin(), facts.cpu_flags.end(), "hypervisor");
  facts.cores = static_cast<std::int64_t>(AllowedCores().size());
  facts.governor = FirstLine(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.memory_bytes = KibibytesToBytes(FirstEntry(root + "/proc/meminfo", "MemTotal", ':'));
  facts.os = FirstEntry(root + "/etc/os-release", "PRETTY_NAME", '=');
  utsname name{};
  if (::uname(&name) == 0) {
    facts.architecture = name.machine;
    facts.kernel = std::string(name.sysname) + " " + name.release;
  }
  facts.libraries["libc"] = std::string("glibc ") + ::gnu_get_libc_version();
#if defined(__clang__)
  facts.libraries["compiler"] = __VERSION__;
#else
  facts.libraries["compiler"] = std::string("GCC ") + __VERSION__;
#endif
  return facts;
}

std::string ToJson(const MachineFacts& facts, int indent) {
  return ToJsonText(facts, indent);
}

std::string CpuFingerprint(const MachineFacts& facts) {
  std::string text = facts.architecture + "\n" + facts.cpu + "\n" + std::to_string(facts.cores) +
                     "\n" + facts.governor;
  for (const std::string& flag : facts.cpu_flags) text += "\n" + flag;
  return Sha256Hex(text);
}

}  // namespace msc::cost
