#pragma once

// Private to this folder.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace msc {

/// How folders begin in which compilers work, in the cache's own.
inline constexpr const char* kBuildPrefix = ".build-";

/// Shared objects by key in a folder of this user alone: see CompileAndLoad. Thread-safe.
class KernelCache {
 public:
  /// Makes the folder if it is not there. UserError if it is not to be trusted.
  explicit KernelCache(std::string folder);

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// Opens the entry, and marks it as used now. Null where there is none, or none that is whole and
  /// this user's; those are removed.
  [[nodiscard]] std::shared_ptr<void> Load(const std::string& key);
  void Put(const std::string& key, std::string_view object);
  /// Removes what was used longest ago until at most `bytes` are left, and entries that were begun
  /// a day ago and never finished.
  void Shrink(std::int64_t bytes);
  /// Why the last entry could not be loaded; empty if none failed so.
  [[nodiscard]] std::string LastError() const;

 private:
  [[nodiscard]] std::string PathOf(const std::string& key) const;

  std::string folder_;
  mutable std::mutex mutex_;
  std::string last_error_;
};

}  // namespace msc
