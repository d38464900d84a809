#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/base/within.h"

namespace msc::cost {

/// The machine that measures, for env.json, the report and cache keys.
struct MachineFacts {
  std::string cpu;                     ///< "Intel(R) Xeon(R) Platinum 8481C"; empty if not told
  std::string architecture;            ///< "x86_64"
  std::vector<std::string> cpu_flags;  ///< all that the kernel lists, sorted
  std::int64_t cores = 0;              ///< that this process may use
  std::string governor;                ///< of the first core; empty if not readable
  bool virtual_machine = false;        ///< the kernel knows of a hypervisor
  std::int64_t memory_bytes = 0;
  std::string kernel;  ///< "Linux 6.1.0"
  std::string os;      ///< "Debian GNU/Linux 12 (bookworm)"
  /// Versions by name: "compiler", "libc", and what the caller adds, such as targets.
  std::map<std::string, std::string> libraries;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("cpu", self.cpu, "model");
    visit("architecture", self.architecture, "instruction set");
    visit("cpu_flags", self.cpu_flags, "extensions");
    visit("cores", self.cores, "cores this process may use");
    visit("governor", self.governor, "frequency governor");
    visit("virtual_machine", self.virtual_machine, "whether there is a hypervisor");
    visit("memory_bytes", self.memory_bytes, "main memory");
    visit("kernel", self.kernel, "operating system kernel");
    visit("os", self.os, "distribution");
    visit("libraries", self.libraries, "versions by name");
  }
};

/// Reads /proc, /sys and /etc below `root` (a test gives one of its own); what is not there stays
/// empty. Never throws for what it finds.
[[nodiscard]] MachineFacts ReadMachine(const std::string& root = "");
[[nodiscard]] std::string ToJson(const MachineFacts& facts, int indent = -1);
[[nodiscard]] MachineFacts MachineFromJson(std::string_view text, const std::string& what);

/// SHA-256 of what decides how fast the same code runs here: model, flags, cores, governor.
[[nodiscard]] std::string CpuFingerprint(const MachineFacts& facts);

}  // namespace msc::cost
