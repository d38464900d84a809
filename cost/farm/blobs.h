#pragma once

#include <string>
#include <string_view>

namespace msc::cost {

/// A folder of files named by the SHA-256 of their bytes, shared by all ranks of a farm: what is
/// too large for a message. Writers never see each other's half-written files. Thread-safe.
class BlobFolder {
 public:
  /// Makes the folder where it is missing. SystemError.
  explicit BlobFolder(std::string path);

  /// Stores bytes; returns their name. SystemError.
  [[nodiscard]] std::string Put(std::string_view bytes) const;
  /// The bytes. SystemError if they are not there or are not what their name says.
  [[nodiscard]] std::string Get(const std::string& name) const;
  /// Removes all blobs, also half-written ones; leaves other files alone.
  void Clear() const;

 private:
  [[nodiscard]] std::string PathOf(const std::string& name) const;
  std::string path_;
};

}  // namespace msc::cost
