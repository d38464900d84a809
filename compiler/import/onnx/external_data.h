#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compiler/base/mapped_file.h"

namespace msc::detail {

/// Location of one tensor's bytes outside its model file.
struct ExternalPlace {
  std::string location = {};  ///< relative path below the model's folder
  std::uint64_t offset = 0;   ///< in bytes
  std::uint64_t length = 0;   ///< in bytes
};

/// An opened external location that has been checked to exist, so that memory is allocated only for
/// bytes that exist. No path can leave `folder`: Linux rejects "..", absolute paths and
/// symbolic links on the way (openat2); where openat2 is unavailable, each path component is opened
/// separately without following links.
class ExternalFile {
 public:
  /// Throws UserError if the path is rejected, or if the file is missing, not regular, has further
  /// hard links, or is shorter than the place.
  ExternalFile(const std::string& folder, ExternalPlace place);
  ExternalFile(const ExternalFile&) = delete;
  ExternalFile& operator=(const ExternalFile&) = delete;
  ~ExternalFile();

  /// Fills `out`, whose size is the length of the place. Throws UserError if the file has shrunk.
  void Read(std::span<std::byte> out) const;
  /// Maps the whole file. Returns null if it is empty, or its file system or a limit of the process
  /// allows no mapping.
  [[nodiscard]] std::shared_ptr<const MappedFile> Map() const;
  /// Returns the SHA-1 of the whole file, 40 lowercase hex digits. Throws UserError if it cannot be
  /// read.
  [[nodiscard]] std::string Sha1Hex() const;
  /// Returns device and inode, which identify the file whatever the path to it.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> Identity() const;

 private:
  ExternalPlace place_;
  int fd_ = -1;
};

/// Checks the checksums of whole files of external data.
class ExternalChecksums {
 public:
  explicit ExternalChecksums(std::string folder) : folder_(std::move(folder)) {}
  /// Throws UserError, which names the file, unless `checksum` is its SHA-1 in hex digits. Reads
  /// each file only once.
  void Check(const std::string& location, const std::string& checksum);

 private:
  std::string folder_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> known_;  ///< by Identity
};

}  // namespace msc::detail
