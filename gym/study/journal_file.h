#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace msc::gym {

/// Where a journal writes: the operations that can fail or be torn, so that tests can make them.
/// Every method throws SystemError when the machine refuses.
class JournalFile {
 public:
  JournalFile() = default;
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;
  virtual ~JournalFile() = default;

  /// For messages.
  [[nodiscard]] virtual std::string Path() const = 0;
  /// All bytes there are.
  [[nodiscard]] virtual std::string Read() = 0;
  /// Writes all of `bytes` at `offset`. When it throws, any part may have been written.
  virtual void Write(std::uint64_t offset, std::string_view bytes) = 0;
  virtual void Truncate(std::uint64_t size) = 0;
  /// Returns when all that was written is on disk.
  virtual void Sync() = 0;
  /// Stores bytes that are about to be cut off, in a new file beside; returns its path.
  virtual std::string KeepTorn(std::string_view bytes) = 0;
};

/// Opens or creates `path`, a regular file, and locks it for this process with flock, so that a
/// lock never outlives its holder. UserError if `path` is something else; SystemError naming the
/// holder if another process keeps the lock for longer than `patience` (the processes of a killed
/// run need a moment to go).
[[nodiscard]] std::unique_ptr<JournalFile> OpenJournalFile(
    const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds{2});

}  // namespace msc::gym
