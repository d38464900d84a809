#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/measure/child_start.h"

namespace msc::cost {

/// kExclusive: to measure time on cores; kShared: to compute on them, beside others who do.
enum class CoreUse : unsigned char { kShared, kExclusive };

/// Cores held against every process of this machine that asks by the same folder.
///
/// One file a core, `<folder>/mscgym-core-<n>.lock`, is locked with flock: the kernel lets go of it
/// when the holder dies, however it dies. Files are taken in ascending order of cores, so that two
/// sets that overlap cannot wait for each other in a circle. They stay behind, empty.
class CoreLock {
 public:
  CoreLock(CoreLock&&) = default;
  CoreLock& operator=(CoreLock&&) = default;
  CoreLock(const CoreLock&) = delete;
  CoreLock& operator=(const CoreLock&) = delete;
  ~CoreLock() = default;

 private:
  friend std::optional<CoreLock> LockCores(const std::string& folder, std::vector<int> cores,
                                           CoreUse use, const std::function<bool()>& stop);
  CoreLock() = default;
  std::vector<Descriptor> files_;
};

/// Numbers of all cores of the machine, whether or not this process may use them: for what is
/// measured of the whole of it.
[[nodiscard]] std::vector<int> AllCores();

/// Waits until the cores are free; nullopt if `stop` (where given) says true before. Nothing is
/// locked where `cores` is empty. SystemError if a lock file cannot be opened.
[[nodiscard]] std::optional<CoreLock> LockCores(const std::string& folder, std::vector<int> cores,
                                                CoreUse use,
                                                const std::function<bool()>& stop = {});

}  // namespace msc::cost
