#pragma once

#include <string>
#include <string_view>

namespace msc::cost {

/// Folder of files named by the SHA-256 of their bytes, shared by all ranks of a farm, for data too
/// large for a message. A writer never shows other processes an unfinished file. Thread-safe.
class BlobFolder {
 public:
  /// Creates the folder if it is missing. SystemError if that fails.
  explicit BlobFolder(std::string path);

  /// Stores bytes and returns their name. SystemError if that fails.
  [[nodiscard]] std::string Put(std::string_view bytes) const;
  /// Returns the bytes of a blob. SystemError if it is missing or its bytes do not match its name.
  [[nodiscard]] std::string Get(const std::string& name) const;
  /// Removes all blobs, including unfinished ones. Leaves other files.
  void Clear() const;

 private:
  [[nodiscard]] std::string PathOf(const std::string& name) const;
  std::string path_;
};

}  // namespace msc::cost
