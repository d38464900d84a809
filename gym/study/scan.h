#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msc::gym {

/// Bytes that belong to no valid record.
struct JournalDamage {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::size_t before = 0;  ///< valid records ahead of it in the file
  std::string why;         ///< "the checksum differs"
  std::size_t lost = 0;    ///< missing records: by the surrounding numbers if known, else by the
                           ///< record starts in the bytes
};

/// Result of scanning the bytes of a journal.
///
/// A record is "J1 <crc32c: 8 hex> <length: 8 hex> <payload>\n", hex digits in lower case. The
/// checksum covers everything between itself and the newline: length, space, payload. The payload
/// is one JSON object on one line that starts with {"seq":N, where N counts from 0 without a gap.
struct JournalScan {
  std::vector<std::string_view> records;  ///< payloads of all valid records; views into the bytes
  std::vector<JournalDamage> damage;      ///< in file order, none overlapping
  std::uint64_t good_end = 0;  ///< where the first damage starts, or the end of the bytes
  /// Returns whether all damage is one stretch after the last valid record, as a kill or a power
  /// cut leaves it in the middle of an append.
  [[nodiscard]] bool torn() const;
  /// Whether all damage is the start of one record at the end of the file, without its newline and
  /// ignoring zeros behind it: an append that is in progress or was cut short. No finished trial is
  /// lost then, since an append returns only when its whole record is on disk.
  bool unfinished = false;
  [[nodiscard]] bool ok() const noexcept { return damage.empty(); }
  /// Returns whether `records` holds every record that was ever finished.
  [[nodiscard]] bool complete() const noexcept { return ok() || unfinished; }
};

/// Scans a journal, for opening, verification and salvage alike. Accepts any bytes, in time linear
/// in their number. The result refers to `bytes`.
[[nodiscard]] JournalScan ScanJournal(std::string_view bytes);

/// Returns one line of a journal, newline included. `json` is an object without "seq", on one line.
[[nodiscard]] std::string JournalLine(std::uint64_t seq, std::string_view json);

/// Returns the payloads as JSON lines.
[[nodiscard]] std::string DumpJournal(const JournalScan& scan);
/// Returns a few lines for a person: the number of records, and each damage with its byte offset
/// and record number. `name` is the file.
[[nodiscard]] std::string DescribeJournal(const JournalScan& scan, const std::string& name);
/// Returns a warning for a reader that uses `records` alone: how many records are missing, and
/// where. One line without a newline; empty if the scan is complete.
[[nodiscard]] std::string DescribeLoss(const JournalScan& scan, const std::string& name);
/// Returns a valid journal of all valid records, renumbered in file order.
[[nodiscard]] std::string SalvageJournal(const JournalScan& scan);

}  // namespace msc::gym
