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
  std::size_t before = 0;  ///< number of valid records ahead of it in the file
  std::string why;         ///< "the checksum differs"
  std::size_t lost = 0;    ///< records that are missing there: as the numbers around it say, else
                           ///< as many as begin there
};

/// What the bytes of a journal hold.
///
/// A record is "J1 <crc32c: 8 hex> <length: 8 hex> <payload>\n", hex digits in lower case. The
/// checksum is over all between it and the newline: length, space, payload. The payload is one JSON
/// object on one line that starts with {"seq":N, and N counts from 0 without a gap.
struct JournalScan {
  std::vector<std::string_view> records;  ///< payloads of all valid records; views into the bytes
  std::vector<JournalDamage> damage;      ///< in file order, none overlapping
  std::uint64_t good_end = 0;  ///< where the first damage starts, or the end of the bytes
  /// Whether all damage is one stretch after the last valid record: what a kill or a power cut in
  /// the middle of an append leaves behind.
  [[nodiscard]] bool torn() const;
  /// Whether all damage is the beginning of one record, at the end and without its newline, zeros
  /// behind it aside: what an append leaves that is under way, or was cut short. No finished trial
  /// is lost by it, as an append reports only when all of its record is on disk.
  bool unfinished = false;
  [[nodiscard]] bool ok() const noexcept { return damage.empty(); }
  /// Whether a reader of the records misses none that was ever finished.
  [[nodiscard]] bool complete() const noexcept { return ok() || unfinished; }
};

/// Reads a journal; for opening, verifying and rescuing alike. Takes any bytes, linear in their
/// number. The result refers to `bytes`.
[[nodiscard]] JournalScan ScanJournal(std::string_view bytes);

/// One line of a journal, newline included. `json` is an object without "seq", on one line.
[[nodiscard]] std::string JournalLine(std::uint64_t seq, std::string_view json);

/// Payloads as JSON lines.
[[nodiscard]] std::string DumpJournal(const JournalScan& scan);
/// What a person wants to know of it, some lines: number of records, every damage with its byte
/// offset and record number. `name` is the file.
[[nodiscard]] std::string DescribeJournal(const JournalScan& scan, const std::string& name);
/// What a reader is warned of who shows `records` alone: how many are left out, and where. Empty
/// where the scan is complete. One line without a newline.
[[nodiscard]] std::string DescribeLoss(const JournalScan& scan, const std::string& name);
/// A valid journal of all valid records, numbered anew in file order.
[[nodiscard]] std::string SalvageJournal(const JournalScan& scan);

}  // namespace msc::gym
