#pragma once

#include <string>

namespace msc {

/// Temporary folder of this user, `<parent>/<prefix>` plus six random letters. The destructor
/// removes it with its contents. The process holds an flock on it, which the kernel releases when
/// the process ends, so SweepPassingFolders can tell a folder in use from one that a killed process
/// left behind.
class PassingFolder {
 public:
  /// Creates the folder in `parent`, which must exist. Throws SystemError if it cannot.
  PassingFolder(const std::string& parent, const std::string& prefix);
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  ~PassingFolder();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  ///< -1 if the file system does not lock folders; such a folder is never swept
};

/// Removes the folders of this user in `parent` whose names begin with `prefix` and whose processes
/// have ended. Skips folders in use by any process, and folders that cannot be removed.
void SweepPassingFolders(const std::string& parent, const std::string& prefix);

}  // namespace msc
