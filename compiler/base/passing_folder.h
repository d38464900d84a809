#pragma once

#include <string>

namespace msc {

/// A new folder of this user alone, `<parent>/<prefix>` and six letters, removed with all in it at
/// the end of this object. It is locked as long as the process lives (flock, so that a lock never
/// outlives its holder): what a process that was killed leaves can be told from what is in use.
class PassingFolder {
 public:
  /// `parent` is there. SystemError if the folder cannot be made.
  PassingFolder(const std::string& parent, const std::string& prefix);
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  ~PassingFolder();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  ///< -1 where the file system locks no folders: then it is never swept
};

/// Removes the folders of this user in `parent` that begin with `prefix` and whose makers are gone.
/// What is in use, by whichever process, stays; so does what cannot be removed.
void SweepPassingFolders(const std::string& parent, const std::string& prefix);

}  // namespace msc
