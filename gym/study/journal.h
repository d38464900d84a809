#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gym/study/journal_file.h"

namespace msc::gym {

/// An append-only log of JSON records that survives kills, torn tails and full disks. JournalScan
/// defines the form of a record. Opening a journal reads all records. A torn tail is copied to a
/// file beside the journal and cut off with a warning; damage before a valid record is an error.
/// Not thread-safe.
class Journal {
 public:
  /// Opens or creates `path` as OpenJournalFile does. UserError, with byte offset and record
  /// number, if the file is damaged or is not a journal.
  explicit Journal(const std::string& path);
  /// For tests: takes a file double instead of a path.
  explicit Journal(std::unique_ptr<JournalFile> file);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// Returns the payloads found on opening, in order, each a JSON object as text.
  [[nodiscard]] const std::vector<std::string>& records() const noexcept { return records_; }
  /// Returns warnings from opening, such as "cut 17 bytes of a torn record off 'trials.journal';
  /// they are in ...".
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// Appends a record and returns when it is on disk. `json` is an object on one line without a key
  /// "seq".
  ///
  /// Throws SystemError if the record may not be on disk. After a failed write the partial record
  /// is cut off again, and a later Append may succeed. After a failed sync the content of the disk
  /// is unknown: this Journal then rejects every further Append, and the file must be opened anew.
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
