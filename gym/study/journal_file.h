#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace msc::gym {

/// The file below a journal: the operations that can fail or be torn, so that tests can inject
/// faults. Every method throws SystemError if the operating system reports an error.
class JournalFile {
 public:
  JournalFile() = default;
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;
  virtual ~JournalFile() = default;

  /// Returns the path, for messages.
  [[nodiscard]] virtual std::string Path() const = 0;
  /// Returns the whole content.
  [[nodiscard]] virtual std::string Read() = 0;
  /// Writes all of `bytes` at `offset`. If it throws, any part may have been written.
  virtual void Write(std::uint64_t offset, std::string_view bytes) = 0;
  virtual void Truncate(std::uint64_t size) = 0;
  /// Returns when everything written so far is on disk.
  virtual void Sync() = 0;
  /// Stores bytes that are about to be cut off in a new file beside this one; returns its path.
  virtual std::string KeepTorn(std::string_view bytes) = 0;
};

/// Opens or creates the regular file `path` and locks it for this process with flock, so that the
/// kernel releases the lock when the process ends. UserError if `path` is not a regular file.
/// SystemError, naming the holder, if another process holds the lock for longer than `patience`;
/// the processes of a killed run need a moment to exit.
[[nodiscard]] std::unique_ptr<JournalFile> OpenJournalFile(
    const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds{2});

}  // namespace msc::gym
