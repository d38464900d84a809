#include "gym/study/scan.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"

namespace msc::gym {
namespace {

// Layout of the header: "J1 cccccccc llllllll "
constexpr std::string_view kMark = "J1 ";
constexpr std::size_t kCrcAt = 3;
constexpr std::size_t kLengthAt = 12;
constexpr std::size_t kHeader = 21;
constexpr std::string_view kSeq = "{\"seq\":";

std::string Hex8(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(8, '0');
  for (std::size_t i = 8; i-- > 0; value >>= 4U) text[i] = kDigits[value & 15U];
  return text;
}

/// Parses exactly eight lowercase hex digits. A library parser would also take 'A', '+' or "0x",
/// and so accept a header in which a bit flipped.
std::optional<std::uint64_t> ParseHex8(std::string_view text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      value = value << 4U | static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4U | static_cast<std::uint64_t>(c - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

/// Returns the number after {"seq":, if it is there in canonical form.
std::optional<std::uint64_t> ParseSeq(std::string_view payload) {
  if (payload.substr(0, kSeq.size()) != kSeq || payload.back() != '}') return std::nullopt;
  const char* begin = payload.data() + kSeq.size();
  std::uint64_t seq = 0;
  const auto [end, error] = std::from_chars(begin, payload.data() + payload.size(), seq);
  if (error != std::errc() || (*begin == '0' && end != begin + 1)) return std::nullopt;
  if (*end != ',' && *end != '}') return std::nullopt;
  return seq;
}

/// Result of parsing at one offset: a record, or the reason why there is none.
struct Parsed {
  std::string_view payload;
  std::uint64_t seq = 0;
  std::size_t end = 0;  ///< first byte after the record
  const char* why = nullptr;
};

/// Parses the record at `at`. `newline` is the offset of the first newline at or after `at`.
Parsed ParseAt(std::string_view bytes, std::size_t at, std::size_t newline) {
  const auto refuse = [](const char* why) {
    Parsed parsed;
    parsed.why = why;
    return parsed;
  };
  if (newline == std::string_view::npos) return refuse("the record has no end");
  const std::string_view line = bytes.substr(at, newline - at);
  if (line.size() < kHeader || line.substr(0, kMark.size()) != kMark ||
      line[kLengthAt - 1] != ' ' || line[kHeader - 1] != ' ') {
    return refuse("the header is malformed");
  }
  const auto crc = ParseHex8(line.substr(kCrcAt, 8));
  const auto length = ParseHex8(line.substr(kLengthAt, 8));
  if (!crc || !length) return refuse("the header is malformed");
  if (*length != line.size() - kHeader) return refuse("the length differs");
  if (*crc != Crc32c(line.substr(kLengthAt))) return refuse("the checksum differs");
  Parsed parsed;
  parsed.payload = line.substr(kHeader);
  const auto seq = parsed.payload.empty() ? std::nullopt : ParseSeq(parsed.payload);
  if (!seq) return refuse("the record has no sequence number");
  parsed.seq = *seq;
  parsed.end = newline + 1;
  return parsed;
}

/// Returns the offset of the first valid record after `from`. A damaged newline joins two lines, so
/// a record may start anywhere. The limit on checksums per line keeps the cost linear for lines
/// that consist of nothing but headers.
std::optional<std::size_t> NextRecord(std::string_view bytes, std::size_t from) {
  constexpr int kTriesPerLine = 64;
  std::size_t newline = bytes.find('\n', from);
  int tries = 0;
  for (std::size_t at = bytes.find(kMark, from + 1); at != std::string_view::npos;
       at = bytes.find(kMark, at + 1)) {
    if (newline < at) {
      newline = bytes.find('\n', at);
      tries = 0;
    }
    if (newline == std::string_view::npos) return std::nullopt;
    if (tries >= kTriesPerLine) continue;
    // Compute a checksum only for a header whose length ends at this newline.
    const auto length =
        at + kHeader <= newline ? ParseHex8(bytes.substr(at + kLengthAt, 8)) : std::nullopt;
    if (!length || *length != newline - at - kHeader) continue;
    ++tries;
    if (ParseAt(bytes, at, newline).why == nullptr) return at;
  }
  return std::nullopt;
}

/// Returns whether the bytes are the start of one record without its newline. Trailing zeros are
/// ignored: after a power cut a file may have its new length but not its new content.
bool IsBeginning(std::string_view bytes) {
  bytes = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  constexpr std::string_view kForm = "J1 hhhhhhhh hhhhhhhh ";
  for (std::size_t i = 0; i < std::min(bytes.size(), kForm.size()); ++i) {
    const bool hex = ParseHex8(bytes.substr(i, 1)).has_value();
    if (kForm[i] == 'h' ? !hex : bytes[i] != kForm[i]) return false;
  }
  if (bytes.size() <= kHeader) return true;
  return bytes.find('\n') == std::string_view::npos &&
         bytes.size() - kHeader <= *ParseHex8(bytes.substr(kLengthAt, 8));
}

/// Counts the record starts in bytes without a valid record, at least one.
std::size_t CountBeginnings(std::string_view bytes) {
  std::size_t count = 1;
  for (std::size_t at = bytes.find(kMark, 1); at != std::string_view::npos;
       at = bytes.find(kMark, at + 1)) {
    if (bytes[at - 1] == '\n') ++count;
  }
  return count;
}

}  // namespace

bool JournalScan::torn() const {
  return damage.size() == 1 && damage.front().before == records.size();
}

JournalScan ScanJournal(std::string_view bytes) {
  JournalScan scan;
  std::size_t at = 0;
  std::uint64_t expected = 0;
  while (at < bytes.size()) {
    const Parsed parsed = ParseAt(bytes, at, bytes.find('\n', at));
    if (parsed.why == nullptr) {
      // A record out of sequence is intact itself; the missing records precede it.
      if (parsed.seq != expected) {
        scan.damage.push_back({at, 0, scan.records.size(),
                               "record " + std::to_string(expected) + " is missing, record " +
                                   std::to_string(parsed.seq) + " follows",
                               parsed.seq > expected ? parsed.seq - expected : 0});
      }
      scan.records.push_back(parsed.payload);
      expected = parsed.seq + 1;
      at = parsed.end;
      continue;
    }
    const std::size_t next = NextRecord(bytes, at).value_or(bytes.size());
    scan.damage.push_back({at, next - at, scan.records.size(), parsed.why,
                           CountBeginnings(bytes.substr(at, next - at))});
    // The damage explains the gap in the numbers, so the gap is not reported as a second damage.
    if (next < bytes.size()) {
      const std::uint64_t seq = ParseAt(bytes, next, bytes.find('\n', next)).seq;
      if (seq > expected) scan.damage.back().lost = seq - expected;
      expected = seq;
    }
    at = next;
  }
  scan.good_end = scan.damage.empty() ? bytes.size() : scan.damage.front().offset;
  scan.unfinished = scan.torn() && IsBeginning(bytes.substr(scan.good_end));
  return scan;
}

std::string JournalLine(std::uint64_t seq, std::string_view json) {
  Check(json.size() >= 2 && json.front() == '{' && json.back() == '}' &&
            json.find('\n') == std::string_view::npos,
        "a journal record is a JSON object on one line");
  std::string payload = std::string(kSeq) + std::to_string(seq);
  if (json.size() > 2) payload += ',';
  payload += json.substr(1);
  Check(payload.size() < (std::size_t{1} << 32U), "a journal record has less than 4 GiB");
  const std::string covered = Hex8(payload.size()) + " " + payload;
  return std::string(kMark) + Hex8(Crc32c(covered)) + " " + covered + "\n";
}

std::string DumpJournal(const JournalScan& scan) {
  std::string text;
  for (const auto payload : scan.records) {
    text += payload;
    text += '\n';
  }
  return text;
}

namespace {

std::string PlaceOf(const JournalDamage& damage) {
  return "byte " + std::to_string(damage.offset) + ", after " + std::to_string(damage.before) +
         " records: " + damage.why + " (" + std::to_string(damage.size) + " bytes)";
}

}  // namespace

std::string DescribeJournal(const JournalScan& scan, const std::string& name) {
  if (scan.ok() && scan.records.empty()) {
    return name + ": empty: nothing was recorded, or all of it is gone\n";
  }
  std::string text = name + ": " + std::to_string(scan.records.size()) + " valid records, ";
  if (scan.ok()) return text + "no damage\n";
  text += scan.torn() ? "a torn tail that the next run cuts off\n" : "damaged\n";
  for (const auto& damage : scan.damage) text += "  " + PlaceOf(damage) + "\n";
  return text;
}

std::string DescribeLoss(const JournalScan& scan, const std::string& name) {
  if (scan.complete()) return "";
  constexpr std::size_t kMaxPlaces = 4;
  std::size_t lost = 0;
  std::string places;
  for (std::size_t i = 0; i < scan.damage.size(); ++i) {
    lost += scan.damage[i].lost;
    if (i < kMaxPlaces) places += (i == 0 ? "" : "; ") + PlaceOf(scan.damage[i]);
  }
  if (scan.damage.size() > kMaxPlaces) {
    places += "; and " + std::to_string(scan.damage.size() - kMaxPlaces) +
              " more places, which 'mscgym journal verify' lists";
  }
  return "'" + name + "' is damaged, and " + std::to_string(lost) +
         (lost == 1 ? " record is" : " records are") + " left out: " + places;
}

std::string SalvageJournal(const JournalScan& scan) {
  std::string bytes;
  std::uint64_t seq = 0;
  for (const auto payload : scan.records) {
    const std::size_t end = payload.find_first_of(",}", kSeq.size());
    const std::size_t rest = payload[end] == ',' ? end + 1 : end;
    bytes += JournalLine(seq++, "{" + std::string(payload.substr(rest)));
  }
  return bytes;
}

}  // namespace msc::gym
