#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace msc::detail {

/// Where one tensor lies outside its model file.
struct ExternalPlace {
  std::string location;      ///< relative path below the folder of the model
  std::uint64_t offset = 0;  ///< bytes
  std::uint64_t length = 0;  ///< bytes
};

/// One such place, opened and found to be there, so that memory is taken only for bytes that exist.
/// No path leads out of `folder`: the kernel refuses "..", absolute paths and links on the way
/// (openat2), or, where it cannot, every component is opened by itself without following links.
class ExternalFile {
 public:
  /// Throws UserError for a path that is refused, a file that is missing, not regular, hard-linked
  /// elsewhere, or shorter than the place.
  ExternalFile(const std::string& folder, ExternalPlace place);
  ExternalFile(const ExternalFile&) = delete;
  ExternalFile& operator=(const ExternalFile&) = delete;
  ~ExternalFile();

  /// Fills `out`, which has the length of the place. UserError if the file shrank meanwhile.
  void Read(std::span<std::byte> out) const;
  /// SHA-1 of the whole file, 40 lowercase hex digits. UserError if it cannot be read.
  [[nodiscard]] std::string Sha1Hex() const;
  /// Tells one file from another, whatever paths lead to it: device and inode.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> Identity() const;

 private:
  ExternalPlace place_;
  int fd_ = -1;
};

/// What files of external data must be as a whole.
class ExternalChecksums {
 public:
  explicit ExternalChecksums(std::string folder) : folder_(std::move(folder)) {}
  /// UserError naming the file unless `checksum` is the SHA-1 of it, in hex digits. Each file is
  /// read once.
  void Check(const std::string& location, const std::string& checksum);

 private:
  std::string folder_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> known_;  ///< by identity
};

}  // namespace msc::detail
