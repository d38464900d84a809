#include "cost/measure/machine.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/file.h"
#include "cost/measure/core_lock.h"
#include "cost/measure/memory.h"

namespace msc::cost {
namespace {

/// A root with files of a machine that somebody else owns.
std::string MakeRoot() {
  std::string root = testing::TempDir() + "cost_machine/" +
                     testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(root);  // of a run before
  MakeFolders(root + "/proc");
  MakeFolders(root + "/etc");
  MakeFolders(root + "/sys/devices/system/cpu/cpu0/cpufreq");
  WriteFileAtomic(root + "/proc/cpuinfo",
                  "processor\t: 0\nmodel name\t: Fast: One (R)\nflags\t\t: sse2 avx2 hypervisor\n\n"
                  "processor\t: 1\nmodel name\t: Slow\nflags\t\t: sse2\n");
  WriteFileAtomic(root + "/proc/meminfo", "MemFree:  1 kB\nMemTotal:       2048 kB\n");
  WriteFileAtomic(root + "/etc/os-release", "ID=x\nPRETTY_NAME=\"Some Linux 1\"\n");
  WriteFileAtomic(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  return root;
}

TEST(Machine, IsReadFromWhatTheKernelTells) {
  const MachineFacts facts = ReadMachine(MakeRoot());
  EXPECT_EQ(facts.cpu, "Fast: One (R)");
  EXPECT_EQ(facts.cpu_flags, (std::vector<std::string>{"avx2", "hypervisor", "sse2"}));
  EXPECT_TRUE(facts.virtual_machine);
  EXPECT_EQ(facts.memory_bytes, 2048 * 1024);
  EXPECT_EQ(facts.os, "Some Linux 1");
  EXPECT_EQ(facts.governor, "powersave");
  EXPECT_GE(facts.cores, 1);
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_TRUE(facts.libraries.at("libc").starts_with("glibc "));
}

TEST(Machine, LeavesEmptyWhatIsNotThere) {
  const MachineFacts facts = ReadMachine("/no/such/root");
  EXPECT_EQ(facts.cpu, "");
  EXPECT_TRUE(facts.cpu_flags.empty());
  EXPECT_EQ(facts.memory_bytes, 0);
  EXPECT_EQ(facts.governor, "");
}

TEST(CpuFingerprint, ChangesWithWhatDecidesSpeed) {
  const MachineFacts facts = ReadMachine(MakeRoot());
  const std::string print = CpuFingerprint(facts);
  MachineFacts other = facts;
  other.kernel = "another";
  other.memory_bytes = 1;
  EXPECT_EQ(CpuFingerprint(other), print);
  other.governor = "performance";
  EXPECT_NE(CpuFingerprint(other), print);
  other = facts;
  other.cpu_flags.emplace_back("avx512f");
  EXPECT_NE(CpuFingerprint(other), print);
  other = facts;
  other.cores += 1;
  EXPECT_NE(CpuFingerprint(other), print);
}

/// Puts the process into a control group with a file.
void Put(const std::string& root, const std::string& folder, const std::string& name,
         const std::string& text) {
  MakeFolders(root + folder);
  WriteFileAtomic(root + folder + "/" + name, text);
}

TEST(Memory, IsWhatControlGroupsLeaveOfIt) {
  const std::string root = MakeRoot();
  EXPECT_EQ(UsableMemory(root), 2048 * 1024);
  MakeFolders(root + "/proc/self");
  WriteFileAtomic(root + "/proc/self/cgroup", "4:memory,hugetlb:/job/7\n3:cpu:/\n0::/user/me\n");
  EXPECT_EQ(UsableMemory(root), 2048 * 1024);
  Put(root, "/sys/fs/cgroup/memory/job/7", "memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(UsableMemory(root), 2048 * 1024) << "more than there is";
  Put(root, "/sys/fs/cgroup/memory/job", "memory.limit_in_bytes", "1048576\n");
  EXPECT_EQ(UsableMemory(root), 1048576) << "of the group above, version 1";
  Put(root, "/sys/fs/cgroup/user/me", "memory.max", "max\n");
  EXPECT_EQ(UsableMemory(root), 1048576);
  Put(root, "/sys/fs/cgroup", "memory.max", "4096\n");
  EXPECT_EQ(UsableMemory(root), 4096) << "as a container sees its own, version 2";
  EXPECT_EQ(UsableMemory("/no/such/root"), 0);
}

TEST(Memory, IsSharedByWorkers) {
  const std::string root = MakeRoot();
  WriteFileAtomic(root + "/proc/meminfo", "MemTotal:   10485760 kB\n");
  EXPECT_EQ(MemoryShareMb(1, root), 8192);
  EXPECT_EQ(MemoryShareMb(4, root), 2048);
  EXPECT_EQ(MemoryShareMb(1 << 20U, root), 1);
  EXPECT_EQ(MemoryShareMb(1, "/no/such/root"), 0);
  EXPECT_GT(MemoryShareMb(1), 0) << "of this machine";
}

TEST(Memory, KillsAreCountedInTheGroupWhereItTells) {
  const std::string root = MakeRoot();
  EXPECT_EQ(MemoryKills(root), 0);
  WriteFileAtomic(root + "/proc/vmstat", "nr_free 7\noom_kill 5\n");
  EXPECT_EQ(MemoryKills(root), 5);
  MakeFolders(root + "/proc/self");
  WriteFileAtomic(root + "/proc/self/cgroup", "4:memory:/job\n0::/me\n");
  EXPECT_EQ(MemoryKills(root), 5);
  Put(root, "/sys/fs/cgroup/memory/job", "memory.oom_control", "under_oom 0\noom_kill 3\n");
  EXPECT_EQ(MemoryKills(root), 3);
  Put(root, "/sys/fs/cgroup/unified/me", "memory.events", "oom 9\noom_kill 2\n");
  EXPECT_EQ(MemoryKills(root), 2);
}

class CoreLocks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "cost_locks/" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    MakeFolders(folder_);
  }
  /// Whether the cores can be had at once.
  [[nodiscard]] bool Free(const std::vector<int>& cores, CoreUse use) const {
    return LockCores(folder_, cores, use, [] { return true; }).has_value();
  }
  std::string folder_;
};

TEST_F(CoreLocks, ExcludeEachOtherWhereCoresOverlap) {
  const auto held = LockCores(folder_, {2, 1}, CoreUse::kExclusive);
  ASSERT_TRUE(held.has_value());
  EXPECT_FALSE(Free({1}, CoreUse::kExclusive));
  EXPECT_FALSE(Free({2, 3}, CoreUse::kExclusive));
  EXPECT_FALSE(Free({1}, CoreUse::kShared));
  EXPECT_TRUE(Free({3}, CoreUse::kExclusive));
}

TEST_F(CoreLocks, AreFreeAgainWhenTheHolderIsGone) {
  { const auto held = LockCores(folder_, {1}, CoreUse::kExclusive); }
  EXPECT_TRUE(Free({1}, CoreUse::kExclusive));
}

TEST_F(CoreLocks, KeepNothingOfASetThatCouldNotBeHad) {
  const auto held = LockCores(folder_, {2}, CoreUse::kExclusive);
  EXPECT_FALSE(Free({1, 2}, CoreUse::kExclusive));
  EXPECT_TRUE(Free({1}, CoreUse::kExclusive));
}

TEST_F(CoreLocks, LetThoseShareWhoDoNotMeasureTime) {
  const auto held = LockCores(folder_, {1}, CoreUse::kShared);
  EXPECT_TRUE(Free({1}, CoreUse::kShared));
  EXPECT_FALSE(Free({1}, CoreUse::kExclusive));
}

TEST_F(CoreLocks, WorkWhereTheFilesCannotBeWritten) {
  { const auto held = LockCores(folder_, {1}, CoreUse::kExclusive); }
  std::filesystem::permissions(folder_ + "/mscgym-core-1.lock", std::filesystem::perms(0444));
  EXPECT_TRUE(Free({1}, CoreUse::kExclusive));
}

}  // namespace
}  // namespace msc::cost
