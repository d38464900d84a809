#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/base/within.h"

namespace msc::cost {

/// Description of the measuring machine, for env.json, the report and cache keys.
struct MachineFacts {
  std::string cpu;                     ///< "Intel(R) Xeon(R) Platinum 8481C"; empty if unknown
  std::string architecture;            ///< "x86_64"
  std::vector<std::string> cpu_flags;  ///< all flags that the kernel lists, sorted
  std::int64_t cores = 0;              ///< cores that this process may use
  std::string governor;                ///< of the first core; empty if not readable
  bool virtual_machine = false;        ///< whether the kernel reports a hypervisor
  std::int64_t memory_bytes = 0;
  std::string kernel;  ///< "Linux 6.1.0"
  std::string os;      ///< "Debian GNU/Linux 12 (bookworm)"
  /// Versions by name: "compiler", "libc", and those that the caller adds, such as targets.
  std::map<std::string, std::string> libraries;
  static void Fields(auto& self, auto& visit) {
    visit("cpu", self.cpu, "model of the CPU");
    visit("architecture", self.architecture, "instruction set");
    visit("cpu_flags", self.cpu_flags, "instruction set extensions");
    visit("cores", self.cores, "cores this process may use");
    visit("governor", self.governor, "frequency governor");
    visit("virtual_machine", self.virtual_machine, "whether there is a hypervisor");
    visit("memory_bytes", self.memory_bytes, "main memory");
    visit("kernel", self.kernel, "operating system kernel");
    visit("os", self.os, "distribution");
    visit("libraries", self.libraries, "versions by name");
  }
};

/// Reads /proc, /sys and /etc below `root` (which tests replace). Missing files leave fields empty.
/// Does not throw, whatever the files contain.
[[nodiscard]] MachineFacts ReadMachine(const std::string& root = "");
[[nodiscard]] std::string ToJson(const MachineFacts& facts, int indent = -1);

/// Returns the SHA-256 of everything that decides how fast the same code runs here: architecture,
/// CPU model, flags, cores and governor.
[[nodiscard]] std::string CpuFingerprint(const MachineFacts& facts);

}  // namespace msc::cost
