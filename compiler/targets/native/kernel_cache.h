#pragma once

// Internal to this folder.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace msc {

/// Prefix of the folders inside the cache folder in which compilers work.
inline constexpr const char* kBuildPrefix = ".build-";

/// Shared objects by key in a private folder of this user: see CompileAndLoad. Thread-safe.
class KernelCache {
 public:
  /// Creates the folder if missing. UserError if the folder cannot be trusted.
  explicit KernelCache(std::string folder);

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// Loads an entry and marks it as used now. Returns null if there is none, or if it is damaged or
  /// not this user's; such entries are removed.
  [[nodiscard]] std::shared_ptr<void> Load(const std::string& key);
  void Put(const std::string& key, std::string_view object);
  /// Removes the least recently used entries until at most `bytes` are left, and entries whose
  /// writing began a day ago and never finished.
  void Shrink(std::int64_t bytes);
  /// Returns why the last entry could not be loaded; empty if loading never failed.
  [[nodiscard]] std::string LastError() const;

 private:
  [[nodiscard]] std::string PathOf(const std::string& key) const;

  std::string folder_;
  mutable std::mutex mutex_;
  std::string last_error_;
};

}  // namespace msc
