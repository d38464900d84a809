#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gym/study/journal_file.h"

namespace msc::gym {

/// An append-only log of JSON records that survives kills, torn tails and full disks. The form of a
/// record: JournalScan. Opening reads all records; a torn tail is copied beside the file and cut
/// off with a warning; damage before a valid record is refused. Not thread-safe.
class Journal {
 public:
  /// Opens or creates `path` as OpenJournalFile does. UserError with byte offset and record number
  /// if it is damaged, or is no journal.
  explicit Journal(const std::string& path);
  /// For tests: a file double instead of a path.
  explicit Journal(std::unique_ptr<JournalFile> file);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// Payloads found when it was opened, in order, each a JSON object as text.
  [[nodiscard]] const std::vector<std::string>& records() const noexcept { return records_; }
  /// Warnings from opening: "cut 17 bytes of a torn record off 'trials.journal'; they are in ...".
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// Returns when the record is on disk. `json` is an object on one line without a key "seq".
  ///
  /// SystemError when it is not on disk for certain. After a failed write the part that was written
  /// is cut off again, and a later Append may succeed. After a failed sync nobody knows what the
  /// disk holds: this Journal then refuses every further Append, and opening it anew tells.
  void Append(std::string_view json);

 private:
  void CutTornTail(std::string_view tail);

  std::unique_ptr<JournalFile> file_;
  std::vector<std::string> records_;
  std::vector<std::string> warnings_;
  std::uint64_t end_ = 0;
  std::uint64_t next_ = 0;
  bool broken_ = false;
};

}  // namespace msc::gym
