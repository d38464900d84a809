#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "gym/study/journal.h"
#include "gym/study/scan.h"
#include "tests/gym/study/journal_records.h"
#include "tests/support/error_of.h"

namespace msc::gym {
namespace {

using testing::Bytes;
using testing::DiskOf;
using testing::Json;
using testing::NewPath;
using testing::Payloads;
using testing::Records;
using testing::SimDisk;
using testing::SimFile;

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
            "'sim.journal' had a disk error and accepts no more records; resume the study");
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

}  // namespace
}  // namespace msc::gym
