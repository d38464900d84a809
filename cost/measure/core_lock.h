#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/measure/child_start.h"

namespace msc::cost {

/// kExclusive: to measure time on cores; kShared: to compute on them beside other shared users.
enum class CoreUse : unsigned char { kShared, kExclusive };

/// Locks cores against all processes of this machine that use the same folder.
///
/// Each core has a file `<folder>/mscgym-core-<n>.lock`, locked with flock: the kernel releases it
/// when the holder dies in any way. Files are locked in ascending order of cores, so processes with
/// overlapping sets cannot deadlock. The files remain, empty.
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

/// Returns the numbers of all cores of the machine, including those that this process may not use.
/// For measurements of the whole machine.
[[nodiscard]] std::vector<int> AllCores();

/// Waits until the cores are free. Returns nothing if `stop` (optional) returns true before. Locks
/// nothing if `cores` is empty. SystemError if a lock file cannot be opened.
[[nodiscard]] std::optional<CoreLock> LockCores(const std::string& folder, std::vector<int> cores,
                                                CoreUse use,
                                                const std::function<bool()>& stop = {});

}  // namespace msc::cost
