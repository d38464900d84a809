#include "gym/study/journal.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "gym/study/scan.h"
#include "tests/gym/study/sim_file.h"
#include "tests/support/seeds.h"

namespace msc::gym {
namespace {

using testing::SimDisk;
using testing::SimFile;

/// A file name in a new folder.
std::string NewPath() {
  std::string folder = ::testing::TempDir() + "/journal_XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw SystemError("cannot make '" + folder + "'");
  return folder + "/trials.journal";
}

template <class Error, class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string Json(std::size_t n) {
  return R"({"n":)" + std::to_string(n) + R"(,"value":)" + std::to_string(1.25 + double(n)) + "}";
}
std::string Payload(std::size_t n) {
  return R"({"seq":)" + std::to_string(n) + "," + Json(n).substr(1);
}
std::string Bytes(std::size_t records) {
  std::string bytes;
  for (std::size_t n = 0; n < records; ++n) bytes += JournalLine(n, Json(n));
  return bytes;
}
/// The payloads of records 0, 1, ... count - 1.
std::vector<std::string> Payloads(std::size_t count) {
  std::vector<std::string> payloads;
  for (std::size_t n = 0; n < count; ++n) payloads.push_back(Payload(n));
  return payloads;
}
SimDisk DiskOf(const std::string& bytes) {
  SimDisk disk;
  disk.written = bytes;
  disk.durable = bytes;
  return disk;
}
std::vector<std::string> Records(SimDisk& disk) {
  return Journal(std::make_unique<SimFile>(disk)).records();
}

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

// --- power cuts
// ------------------------------------------------------------------------------------

/// Every state the disk may be found in: all that was synced, and of the rest nothing, any part,
/// zeros or noise in its place.
std::vector<std::string> CrashImages(const SimDisk& disk, Rng& rng) {
  std::vector<std::string> images{disk.durable, disk.written};
  if (disk.written.size() <= disk.durable.size()) return images;
  const std::size_t from = disk.durable.size();
  for (std::size_t size = from; size < disk.written.size(); ++size) {
    images.push_back(disk.written.substr(0, size));
    images.push_back(images.back() + std::string(disk.written.size() - size, '\0'));
    std::string holes = disk.written;
    holes[size] = '\0';
    images.push_back(holes);
    std::string noise = disk.written.substr(0, size);
    while (noise.size() < disk.written.size()) noise += static_cast<char>(rng.Below(256));
    if (from > 0) images.push_back(noise);
  }
  return images;
}

/// Looks at the disk in the middle of each operation, where the power may go.
class CutFile final : public JournalFile {
 public:
  CutFile(SimDisk& disk, std::function<void()> look)
      : disk_(disk), file_(disk), look_(std::move(look)) {}
  [[nodiscard]] std::string Path() const override { return file_.Path(); }
  [[nodiscard]] std::string Read() override { return file_.Read(); }
  void Write(std::uint64_t offset, std::string_view bytes) override {
    look_();
    file_.Write(offset, bytes);
    look_();
  }
  void Truncate(std::uint64_t size) override {
    file_.Truncate(size);
    look_();
  }
  void Sync() override {
    look_();
    file_.Sync();
    look_();
  }
  std::string KeepTorn(std::string_view bytes) override { return file_.KeepTorn(bytes); }

 private:
  SimDisk& disk_;
  SimFile file_;
  std::function<void()> look_;
};

TEST(Journal, LosesNoAcknowledgedRecordToAPowerCut) {
  Rng rng(1);
  SimDisk disk;
  std::size_t acknowledged = 0;
  std::size_t images = 0;
  const auto look = [&] {
    for (const auto& image : CrashImages(disk, rng)) {
      SimDisk after = DiskOf(image);
      const auto records = Records(after);
      ASSERT_GE(records.size(), acknowledged);
      ASSERT_LE(records.size(), acknowledged + 1);
      ASSERT_EQ(records, Payloads(records.size()));
      ++images;
    }
  };
  Journal journal(std::make_unique<CutFile>(disk, look));
  for (std::size_t n = 0; n < 20; ++n) {
    journal.Append(Json(n));
    acknowledged = n + 1;
    look();
  }
  EXPECT_GT(images, 5000U);
}

TEST(Journal, RecoversFromAPowerCutDuringRecovery) {
  SimDisk disk = DiskOf(Bytes(3) + "J1 torn");
  Rng rng(1);
  const auto look = [&] {
    for (const auto& image : CrashImages(disk, rng)) {
      SimDisk after = DiskOf(image);
      ASSERT_EQ(Records(after), Payloads(3));
    }
  };
  const Journal journal(std::make_unique<CutFile>(disk, look));
}

// --- disks that fail
// -------------------------------------------------------------------------------

/// Appends until something fails; how many were acknowledged.
std::size_t AppendUntilError(Journal& journal, std::size_t first, std::size_t count) {
  for (std::size_t n = first; n < first + count; ++n) {
    try {
      journal.Append(Json(n));
    } catch (const SystemError&) {
      return n;
    }
  }
  return first + count;
}

TEST(Journal, StaysValidWhenTheDiskFailsAtAnyOperation) {
  for (const int error : {ENOSPC, EIO, EDQUOT, EFBIG}) {
    for (int fail_at = 1; fail_at <= 30; ++fail_at) {
      for (const std::size_t partial : {0U, 1U, 30U, 1000U}) {
        SimDisk disk;
        disk.fail_at = fail_at;
        disk.stays = true;
        disk.error = error;
        disk.partial = partial;
        std::size_t acknowledged = 0;
        {
          Journal journal(std::make_unique<SimFile>(disk));
          acknowledged = AppendUntilError(journal, 0, 40);
          ASSERT_EQ(acknowledged, static_cast<std::size_t>((fail_at - 1) / 2));
        }
        // A failed write is cut off at once; a failed sync leaves a whole record that may count.
        const JournalScan scan = ScanJournal(disk.written);
        ASSERT_TRUE(scan.ok());
        ASSERT_EQ(scan.records.size(), acknowledged + (fail_at % 2 == 0 ? 1 : 0));
        disk.fail_at = 0;
        Journal journal(std::make_unique<SimFile>(disk));
        const std::size_t found = journal.records().size();
        ASSERT_EQ(AppendUntilError(journal, found, 5), found + 5);
        ASSERT_EQ(disk.durable, Bytes(found + 5));
      }
    }
  }
}

TEST(Journal, GoesOnAfterAFullDiskHasRoomAgain) {
  SimDisk disk;
  Journal journal(std::make_unique<SimFile>(disk));
  journal.Append(Json(0));
  disk.fail_at = disk.operations + 1;
  disk.partial = 10;
  EXPECT_EQ(ErrorOf<SystemError>([&] { journal.Append(Json(1)); }),
            "cannot write 'sim.journal': No space left on device");
  journal.Append(Json(1));
  EXPECT_EQ(disk.durable, Bytes(2));
}

TEST(Journal, TakesNothingAfterAFailedSync) {
  SimDisk disk;
  Journal journal(std::make_unique<SimFile>(disk));
  disk.fail_at = 2;
  disk.error = EIO;
  EXPECT_EQ(ErrorOf<SystemError>([&] { journal.Append(Json(0)); }),
            "cannot sync 'sim.journal': Input/output error");
  const int operations = disk.operations;
  EXPECT_EQ(ErrorOf<SystemError>([&] { journal.Append(Json(1)); }),
            "'sim.journal' had a disk error and takes no more records; resume the study");
  EXPECT_EQ(disk.operations, operations);
}

TEST(Journal, TakesNothingWhenAFailedWriteCannotBeCutOff) {
  SimDisk disk;
  Journal journal(std::make_unique<SimFile>(disk));
  disk.fail_at = 1;
  disk.stays = true;
  disk.fail_cuts = true;
  disk.partial = 10;
  EXPECT_THROW(journal.Append(Json(0)), SystemError);
  disk.fail_at = 0;
  EXPECT_THROW(journal.Append(Json(0)), SystemError);
  EXPECT_TRUE(Records(disk).empty());
}

TEST(Journal, KeepsItsRecordsWhenTheFileMayGrowNoMore) {
  const std::string path = NewPath();
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  std::size_t acknowledged = 0;
  {
    Journal journal(path);
    struct rlimit small = before;
    small.rlim_cur = 500;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    acknowledged = AppendUntilError(journal, 0, 100);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_GT(acknowledged, 3U);
  EXPECT_LT(acknowledged, 20U);
  EXPECT_EQ(ReadFile(path), Bytes(acknowledged));
}

// --- kills
// -----------------------------------------------------------------------------------------

/// Runs the writer on `path`, kills it after `life`; the last number it acknowledged, or -1.
long WriteAndKill(const std::string& path, std::chrono::microseconds life) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe", errno);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::execl(MSC_JOURNAL_WRITER, MSC_JOURNAL_WRITER, path.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  // Its life starts with the first record it acknowledged.
  std::string acks(1, '\0');
  const ssize_t first = ::read(ends[0], acks.data(), 1);
  if (first != 1) acks.clear();
  std::this_thread::sleep_for(life);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    acks.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  const auto end = acks.rfind('\n');
  if (end == std::string::npos) return -1;
  const auto begin = acks.rfind('\n', end - 1);
  return std::stol(acks.substr(begin == std::string::npos ? 0 : begin + 1));
}

TEST(Journal, LosesAndRepeatsNothingWhenItsWriterIsKilled) {
  const std::string path = NewPath();
  Rng rng(1);
  long last = -1;
  for (int kill = 0; kill < 40; ++kill) {
    const long acknowledged =
        WriteAndKill(path, std::chrono::microseconds(static_cast<long>(rng.Below(8000))));
    ASSERT_GT(acknowledged, last);
    last = acknowledged;
    const Journal journal(path);
    ASSERT_GT(static_cast<long>(journal.records().size()), last);
    for (std::size_t n = 0; n < journal.records().size(); ++n) {
      const std::string number = std::to_string(n);
      ASSERT_EQ(journal.records()[n], R"({"seq":)" + number + R"(,"n":)" + number + "}");
    }
  }
}

// --- tools
// -----------------------------------------------------------------------------------------

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
