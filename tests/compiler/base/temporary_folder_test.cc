#include "compiler/base/temporary_folder.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "tests/support/error_of.h"

namespace msc {
namespace {

namespace fs = std::filesystem;

class Passing : public testing::Test {
 protected:
  Passing() : parent_(testing::TempDir() + "/msc_passing_test_XXXXXX") {
    if (::mkdtemp(parent_.data()) == nullptr) throw SystemError("no folder", errno);
  }
  ~Passing() override { fs::remove_all(parent_); }
  [[nodiscard]] std::size_t Count() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(parent_)) ++count;
    return count;
  }
  /// A process that has made a folder, which it writes a file into, and waits.
  [[nodiscard]] pid_t Maker() const {
    const std::size_t before = Count();
    const pid_t pid = ::fork();
    if (pid == 0) {
      const TemporaryFolder folder(parent_, "work-");
      std::ofstream(folder.path() + "/file") << "x";
      fs::create_directory(parent_ + "/made-" + std::to_string(::getpid()));
      while (true) ::pause();
    }
    while (Count() < before + 2) std::this_thread::yield();
    fs::remove(parent_ + "/made-" + std::to_string(pid));
    return pid;
  }
  static void Kill(pid_t pid) {
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  }

  std::string parent_;
};

TEST_F(Passing, IsOfThisUserAloneAndGoesWithItsObject) {
  {
    const TemporaryFolder folder(parent_, "work-");
    std::ofstream(folder.path() + "/file") << "x";
    struct stat status {};
    ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    EXPECT_TRUE(folder.path().starts_with(parent_ + "/work-")) << folder.path();
    EXPECT_EQ(Count(), 1U);
  }
  EXPECT_EQ(Count(), 0U);
}

TEST_F(Passing, StaysAsLongAsItsProcess) {
  const pid_t other = Maker();
  const TemporaryFolder own(parent_, "work-");
  SweepTemporaryFolders(parent_, "work-");
  EXPECT_EQ(Count(), 2U);
  Kill(other);
  EXPECT_EQ(Count(), 2U);
  SweepTemporaryFolders(parent_, "work-");
  EXPECT_EQ(Count(), 1U);
  EXPECT_TRUE(fs::exists(own.path()));
}

TEST_F(Passing, IsSweptByItsNameOnly) {
  for (const char* const name : {"work-abcdef", "workshop", "other-work-abcdef"}) {
    fs::create_directory(parent_ + "/" + name);
  }
  fs::create_directory(parent_ + "/elsewhere");
  fs::create_directory_symlink(parent_ + "/elsewhere", parent_ + "/work-link");
  std::ofstream(parent_ + "/work-file") << "x";
  SweepTemporaryFolders(parent_, "work-");
  EXPECT_FALSE(fs::exists(parent_ + "/work-abcdef"));
  EXPECT_EQ(Count(), 5U);
  SweepTemporaryFolders(parent_ + "/nowhere", "work-");  // nothing to sweep
}

TEST_F(Passing, IsNeverSweptFromUnderItsMaker) {
  std::thread sweeper([&] {
    for (int i = 0; i < 2000; ++i) SweepTemporaryFolders(parent_, "work-");
  });
  for (int i = 0; i < 500; ++i) {
    const TemporaryFolder folder(parent_, "work-");
    std::ofstream(folder.path() + "/file") << "x";
    ASSERT_TRUE(fs::exists(folder.path() + "/file"));
  }
  sweeper.join();
}

TEST_F(Passing, SaysWhereItCannotBeMade) {
  EXPECT_EQ(ErrorOf<SystemError>([&] { TemporaryFolder(parent_ + "/no", "work-"); }),
            "cannot make a folder in '" + parent_ + "/no': No such file or directory");
}

}  // namespace
}  // namespace msc
