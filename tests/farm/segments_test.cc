#include "cost/farm/segments.h"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/farm/support.h"

namespace msc::cost {
namespace {

namespace fs = std::filesystem;

class Segments : public ::testing::Test {
 protected:
  /// As Open MPI calls it: job 58e50001 of this user on this machine.
  std::string Make(const std::string& rank, const std::string& component = "vader") {
    std::array<char, 256> host{};
    (void)::gethostname(host.data(), host.size() - 1);
    std::string path = folder_ + "/" + component + "_segment." + host.data() + "." +
                       std::to_string(::geteuid()) + ".58e50001." + rank;
    std::ofstream(path) << std::string(4096, 'x');
    return path;
  }

  std::string folder_ = testing::NewFolder("segments");
};

TEST_F(Segments, AreRemovedWhereNobodyHasThem) {
  (void)Make("0");
  (void)Make("1", "sm");
  const std::string host_of_another = folder_ + "/vader_segment.elsewhere.0.58e50001.0";
  std::ofstream{host_of_another} << "x";
  std::ofstream(folder_ + "/notes") << "x";
  EXPECT_EQ(SweepSegments(folder_), 2U);
  EXPECT_TRUE(fs::exists(host_of_another));
  EXPECT_TRUE(fs::exists(folder_ + "/notes"));
  EXPECT_EQ(SweepSegments(folder_ + "/nowhere"), 0U);
}

TEST_F(Segments, StayWhereAProcessHasThemOpenOrMapped) {
  const std::string open = Make("0");
  const std::string mapped = Make("1");
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t user = ::fork();
  if (user == 0) {
    const int kept = ::open(open.c_str(), O_RDWR);
    const int closed = ::open(mapped.c_str(), O_RDWR);
    const void* const memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, closed, 0);
    ::close(closed);
    if (kept >= 0 && memory != MAP_FAILED) (void)!::write(ready[1], "x", 1);
    while (true) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(SweepSegments(folder_), 0U);
  EXPECT_TRUE(fs::exists(open) && fs::exists(mapped));
  ASSERT_EQ(::kill(user, SIGKILL), 0);
  // A process that nobody has reaped holds nothing.
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(user), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(SweepSegments(folder_), 2U);
  ASSERT_EQ(::waitpid(user, nullptr, 0), user);
}

}  // namespace
}  // namespace msc::cost
