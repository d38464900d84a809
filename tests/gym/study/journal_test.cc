#include "gym/study/journal.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "gym/study/scan.h"
#include "tests/gym/study/journal_records.h"
#include "tests/support/error_of.h"
#include "tests/support/seeds.h"

namespace msc::gym {
namespace {

using testing::Bytes;
using testing::DiskOf;
using testing::Json;
using testing::NewPath;
using testing::Payload;
using testing::Payloads;
using testing::Records;
using testing::SimDisk;
using testing::SimFile;

TEST(JournalLine, HasTheDocumentedForm) {
  EXPECT_EQ(JournalLine(7, R"({"type":"tick"})"),
            "J1 c351387f 00000017 {\"seq\":7,\"type\":\"tick\"}\n");
  EXPECT_EQ(ScanJournal(JournalLine(0, "{}")).records,
            std::vector<std::string_view>{R"({"seq":0})"});
}

TEST(Journal, GivesBackWhatWasAppended) {
  const std::string path = NewPath();
  {
    Journal journal(path);
    for (std::size_t n = 0; n < 5; ++n) journal.Append(Json(n));
    EXPECT_TRUE(journal.records().empty());
  }
  {
    Journal journal(path);
    EXPECT_EQ(journal.records(), Payloads(5));
    EXPECT_TRUE(journal.warnings().empty());
    journal.Append(Json(5));
  }
  EXPECT_EQ(ReadFile(path), Bytes(6));
}

TEST(Journal, RefusesARecordThatIsNoObjectOnOneLine) {
  SimDisk disk;
  Journal journal(std::make_unique<SimFile>(disk));
  EXPECT_THROW(journal.Append("[1]"), InternalError);
  EXPECT_THROW(journal.Append("{\"a\":\n1}"), InternalError);
  EXPECT_THROW(journal.Append(R"({"seq":3})"), InternalError);
  EXPECT_THROW(journal.Append("{"), UserError);
  EXPECT_TRUE(disk.written.empty());
}

TEST(Journal, CutAnywhereKeepsEveryWholeRecord) {
  const std::string bytes = Bytes(200);
  std::size_t whole = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    if (size > 0 && bytes[size - 1] == '\n') ++whole;
    SimDisk disk = DiskOf(bytes.substr(0, size));
    Journal journal(std::make_unique<SimFile>(disk));
    ASSERT_EQ(journal.records().size(), whole) << "cut at " << size;
    const bool torn = size > 0 && bytes[size - 1] != '\n';
    ASSERT_EQ(journal.warnings().size(), torn ? 1U : 0U);
    if (torn) {
      ASSERT_EQ(disk.written + disk.torn.at(0), bytes.substr(0, size));
      ASSERT_EQ(disk.durable, disk.written);
    }
    if (size % 97 != 0) continue;
    journal.Append(Json(whole));
    ASSERT_EQ(disk.written, Bytes(whole + 1));
  }
}

TEST(Journal, SaysWhatItCutOff) {
  const std::string path = NewPath();
  std::ofstream(path) << Bytes(3).substr(0, Bytes(3).size() - 5);
  const std::size_t tail = JournalLine(2, Json(2)).size() - 5;
  const Journal journal(path);
  EXPECT_EQ(
      journal.warnings(),
      std::vector<std::string>{"cut " + std::to_string(tail) + " bytes of a torn record off '" +
                               path + "'; they are kept in '" + path + ".torn.1'"});
  EXPECT_EQ(ReadFile(path), Bytes(2));
  EXPECT_EQ(ReadFile(path + ".torn.1"), JournalLine(2, Json(2)).substr(0, tail));
}

TEST(Journal, KeepsEveryTornTail) {
  const std::string path = NewPath();
  for (int i = 1; i <= 3; ++i) {
    std::ofstream(path, std::ios::app) << "J1 torn";
    (void)Journal(path);
    EXPECT_TRUE(std::filesystem::exists(path + ".torn." + std::to_string(i)));
  }
}

TEST(Journal, EveryFlippedBitIsFoundAndAltersNoRecord) {
  const std::string bytes = Bytes(50);
  const std::size_t last = Bytes(49).size();
  const std::vector<std::string> expected = Payloads(50);
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += Stride()) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const JournalScan scan = ScanJournal(flipped);
    ASSERT_FALSE(scan.ok()) << "bit " << bit;
    ASSERT_EQ(scan.records.size(), 49U) << "bit " << bit;
    std::size_t at = 0;
    for (const auto record : scan.records) {
      while (at < expected.size() && expected[at] != record) ++at;
      ASSERT_LT(at, expected.size()) << "bit " << bit << " made " << record;
    }
    SimDisk disk = DiskOf(flipped);
    if (bit / 8 < last) {
      ASSERT_THROW((void)Records(disk), UserError) << "bit " << bit;
      ASSERT_EQ(disk.written, flipped);
    } else {
      ASSERT_EQ(Records(disk), Payloads(49)) << "bit " << bit;
    }
  }
}

std::string Garbage(Rng& rng) {
  std::string line = JournalLine(5, Json(5));
  line[30] = '#';  // else the pieces may make up a record
  std::string garbage;
  const std::size_t pieces = 1 + rng.Below(6);
  for (std::size_t i = 0; i < pieces; ++i) {
    switch (rng.Below(6)) {
      case 0:
        garbage += std::string(rng.Below(50), '\0');
        break;
      case 1:
        garbage += line.substr(0, rng.Below(line.size()));
        break;
      case 2:
        garbage += line.substr(1 + rng.Below(line.size() - 1));
        break;
      case 3:
        garbage += "J1 00000000 0000000" + std::to_string(rng.Below(10)) + " ";
        break;
      case 4:
        garbage += "\nJ1 ";
        break;
      default:
        for (std::size_t n = rng.Below(60); n-- > 0;) garbage += static_cast<char>(rng.Below(256));
    }
  }
  return garbage + "x";
}

TEST(Journal, KeepsTheGoodPrefixBeforeGarbage) {
  const std::string good = Bytes(5);
  for (std::uint64_t seed = 0; seed < Seeds(20000); ++seed) {
    Rng rng(seed);
    SimDisk disk = DiskOf(good + Garbage(rng));
    ASSERT_EQ(Records(disk), Payloads(5)) << "seed " << seed;
    ASSERT_EQ(disk.written, good);
  }
}

TEST(ScanJournal, TakesAnyBytes) {
  for (std::uint64_t seed = 0; seed < Seeds(5000); ++seed) {
    Rng rng(seed);
    const std::string garbage = Garbage(rng);
    const JournalScan scan = ScanJournal(garbage);
    EXPECT_FALSE(scan.ok());
    EXPECT_EQ(scan.good_end, 0U);
  }
}

TEST(ScanJournal, IsNotSlowedDownByHeadersWithoutRecords) {
  // Each header claims to reach to the one newline; trying all of them would take minutes.
  std::string bytes;
  constexpr std::size_t kHeaders = 50000;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < kHeaders; ++i) {
    std::size_t length = (kHeaders - 1 - i) * 21;
    std::string hex(8, '0');
    for (std::size_t digit = 8; digit-- > 0; length >>= 4U) hex[digit] = kDigits[length & 15U];
    bytes += "J1 00000000 " + hex + " ";
  }
  bytes += "\n";
  EXPECT_TRUE(ScanJournal(bytes).torn());
}

TEST(Journal, NamesByteAndRecordOfDamageBeforeTheEnd) {
  std::string bytes = Bytes(4);
  const std::size_t at = Bytes(2).size();
  bytes[at + 30] = '#';
  SimDisk disk = DiskOf(bytes);
  EXPECT_EQ(ErrorOf<UserError>([&] { (void)Records(disk); }),
            "'sim.journal' is damaged at byte " + std::to_string(at) +
                ", record 2: the checksum differs; 'mscgym journal salvage' writes the intact "
                "records to a new file");
}

TEST(Journal, RefusesARecordThatIsMissing) {
  SimDisk disk = DiskOf(JournalLine(0, "{}") + JournalLine(2, "{}"));
  const std::size_t at = JournalLine(0, "{}").size();
  EXPECT_EQ(ErrorOf<UserError>([&] { (void)Records(disk); }),
            "'sim.journal' is damaged at byte " + std::to_string(at) +
                ", record 1: record 1 is missing, record 2 follows; 'mscgym journal salvage' "
                "writes the intact records to a new file");
}

TEST(Journal, RefusesARecordThatIsThereTwice) {
  SimDisk disk = DiskOf(Bytes(2) + JournalLine(1, "{}"));
  EXPECT_THROW((void)Records(disk), UserError);
}

TEST(Journal, LeavesAloneWhatIsNoJournal) {
  const std::string path = NewPath();
  std::ofstream(path) << "dear diary\n";
  EXPECT_EQ(ErrorOf<UserError>([&] { (void)Journal(path); }), "'" + path + "' is not a journal");
  EXPECT_EQ(ReadFile(path), "dear diary\n");
}

TEST(Journal, RefusesAPipe) {
  const std::string path = NewPath();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf<UserError>([&] { (void)Journal(path); }),
            "'" + path + "' is not a regular file");
}

TEST(Journal, RefusesAFolderThatDoesNotExist) {
  const std::string path = NewPath() + "/x/trials.journal";
  EXPECT_EQ(ErrorOf<SystemError>([&] { (void)Journal(path); }),
            "cannot open '" + path + "': No such file or directory");
}

TEST(Journal, HasOneWriter) {
  const std::string path = NewPath();
  {
    const Journal first(path);
    const std::string text =
        ErrorOf<SystemError>([&] { (void)OpenJournalFile(path, std::chrono::milliseconds{30}); });
    const std::string begin = "'" + path + "' is being written by ";
    const std::string end = "; wait for it or stop it";
    // Some file systems do not let the kernel's list of locks be matched with a file.
    EXPECT_TRUE(text == begin + "process " + std::to_string(::getpid()) + end ||
                text == begin + "another process" + end)
        << text;
  }
  EXPECT_NO_THROW((void)Journal(path));
}

TEST(Journal, WaitsForAWriterThatIsAboutToGo) {
  const std::string path = NewPath();
  auto first = std::make_unique<Journal>(path);
  std::jthread going([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    first.reset();
  });
  EXPECT_NO_THROW((void)OpenJournalFile(path, std::chrono::seconds{60}));
}

TEST(DumpJournal, WritesOnePayloadALine) {
  EXPECT_EQ(DumpJournal(ScanJournal(Bytes(2))), Payload(0) + "\n" + Payload(1) + "\n");
}

TEST(DescribeJournal, NamesEveryDamage) {
  EXPECT_EQ(DescribeJournal(ScanJournal(Bytes(2)), "a"), "a: 2 valid records, no damage\n");
  const std::string torn = Bytes(2) + "J1 to";
  EXPECT_EQ(DescribeJournal(ScanJournal(torn), "a"),
            "a: 2 valid records, a torn tail that the next run cuts off\n  byte " +
                std::to_string(Bytes(2).size()) +
                ", after 2 records: the record has no end (5 bytes)\n");
  std::string damaged = Bytes(5);
  damaged[0] = 'K';
  const std::size_t third = Bytes(3).size();
  damaged[third + 4] = 'z';
  EXPECT_EQ(DescribeJournal(ScanJournal(damaged), "a"),
            "a: 3 valid records, damaged\n  byte 0, after 0 records: the header is malformed (" +
                std::to_string(Bytes(1).size()) + " bytes)\n  byte " + std::to_string(third) +
                ", after 2 records: the header is malformed (" +
                std::to_string(JournalLine(3, Json(3)).size()) + " bytes)\n");
}

TEST(DescribeJournal, DoesNotCallAnEmptyJournalWhole) {
  EXPECT_EQ(DescribeJournal(ScanJournal(""), "a"),
            "a: empty: nothing was recorded, or all of it is gone\n");
}

TEST(JournalScan, TellsARecordThatIsBeingWrittenFromADamagedOne) {
  const std::string whole = Bytes(3);
  const std::string record = JournalLine(3, Json(3));
  for (std::size_t size = 1; size < record.size(); ++size) {
    const std::string cut = whole + record.substr(0, size);
    EXPECT_TRUE(ScanJournal(cut).unfinished) << size;
    EXPECT_TRUE(ScanJournal(cut).complete()) << size;
    EXPECT_TRUE(ScanJournal(cut + std::string(7, '\0')).unfinished) << size;  // a power cut
    EXPECT_EQ(DescribeLoss(ScanJournal(cut), "a"), "") << size;
  }
  EXPECT_TRUE(ScanJournal(whole + std::string(100, '\0')).unfinished);
  // A record that was finished ends in a newline: no flipped bit makes it one that was not.
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string flipped = whole + record;
    char& byte = flipped[whole.size() + bit / 8];
    byte = static_cast<char>(byte ^ (1 << (bit % 8)));
    EXPECT_FALSE(ScanJournal(flipped).complete()) << bit;
  }
}

TEST(DescribeLoss, CountsWhatIsMissingAndSaysWhere) {
  EXPECT_EQ(DescribeLoss(ScanJournal(Bytes(5)), "a"), "");
  const auto at = [](std::size_t record) { return Bytes(record).size(); };
  const auto size = [](std::size_t first, std::size_t last) {
    return std::to_string(Bytes(last + 1).size() - Bytes(first).size());
  };
  std::string damaged = Bytes(9);
  damaged[at(2) + 4] = 'z';
  damaged[at(5) + 4] = 'z';
  damaged[at(6) + 4] = 'z';
  damaged[damaged.size() - 3] = 'z';
  EXPECT_EQ(DescribeLoss(ScanJournal(damaged), "a"),
            "'a' is damaged, and 4 records are left out: byte " + std::to_string(at(2)) +
                ", after 2 records: the header is malformed (" + size(2, 2) + " bytes); byte " +
                std::to_string(at(5)) + ", after 4 records: the header is malformed (" +
                size(5, 6) + " bytes); byte " + std::to_string(at(8)) +
                ", after 5 records: the checksum differs (" + size(8, 8) + " bytes)");
  std::string gone = Bytes(9);
  gone.erase(at(3), at(6) - at(3));
  EXPECT_EQ(DescribeLoss(ScanJournal(gone), "a"),
            "'a' is damaged, and 3 records are left out: byte " + std::to_string(at(3)) +
                ", after 3 records: record 3 is missing, record 6 follows (0 bytes)");
  std::string often = Bytes(20);
  for (std::size_t record = 0; record < 18; record += 2) often[at(record) + 4] = 'z';
  const std::string told = DescribeLoss(ScanJournal(often), "a");
  EXPECT_TRUE(told.starts_with("'a' is damaged, and 9 records are left out: ")) << told;
  EXPECT_TRUE(told.ends_with("; and 5 more places, which 'mscgym journal verify' lists")) << told;
}

TEST(SalvageJournal, KeepsEveryIntactRecordInAJournalThatOpens) {
  std::string bytes = Bytes(50);
  for (const std::size_t record : {7U, 8U, 30U}) bytes[Bytes(record).size() + 25] = '\n';
  const std::string salvaged = SalvageJournal(ScanJournal(bytes));
  SimDisk disk = DiskOf(salvaged);
  const auto records = Records(disk);
  ASSERT_EQ(records.size(), 47U);
  std::size_t at = 0;
  for (std::size_t n = 0; n < 50; ++n) {
    if (n == 7 || n == 8 || n == 30) continue;
    EXPECT_EQ(records[at], R"({"seq":)" + std::to_string(at) + "," + Json(n).substr(1));
    ++at;
  }
}

TEST(SalvageJournal, OfAnIntactJournalIsTheJournal) {
  EXPECT_EQ(SalvageJournal(ScanJournal(Bytes(20))), Bytes(20));
}

}  // namespace
}  // namespace msc::gym
