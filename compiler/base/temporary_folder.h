#pragma once

#include <string>

namespace msc {

/// Temporary folder of this user, `<parent>/<prefix>` plus six random letters. The destructor
/// removes it with its contents. The process holds an flock on it, which the kernel releases when
/// the process ends, so SweepTemporaryFolders can tell a folder in use from one that a killed
/// process left behind.
class TemporaryFolder {
 public:
  /// Creates the folder in `parent`, which must exist. Throws SystemError if it cannot.
  TemporaryFolder(const std::string& parent, const std::string& prefix);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  ///< -1 if the file system does not lock folders; such a folder is never swept
};

/// Removes the folders of this user in `parent` whose names begin with `prefix` and whose processes
/// have ended. Skips folders in use by any process, and folders that cannot be removed.
void SweepTemporaryFolders(const std::string& parent, const std::string& prefix);

}  // namespace msc
