#include "cost/measure/child.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/sanitizer.h"
#include "cost/measure/record.h"

namespace msc::cost {
namespace {

using std::chrono::milliseconds;

ChildCommand Naughty(const std::string& kind) {
  ChildCommand command;
  command.argv = {MSC_NAUGHTY_CHILD, kind};
  command.limits.timeout = milliseconds(20000);
  return command;
}

struct Case {
  std::string kind;
  FailureKind failure;
  std::string detail;
  int timeout_ms = 20000;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.kind;
}

class NaughtyChild : public testing::TestWithParam<Case> {};

TEST_P(NaughtyChild, BecomesAFailureOfItsClass) {
  ChildCommand command = Naughty(GetParam().kind);
  command.limits.timeout = milliseconds(GetParam().timeout_ms);
  command.limits.record_bytes = 50000;
  command.limits.stopped = milliseconds(200);
  const auto result = RunChild(command);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), (Failure{GetParam().failure, GetParam().detail}));
  // Neither the child nor anything it started is left for this process to reap.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, NaughtyChild,
    testing::Values(Case{"segv", FailureKind::kCrash, "died of SIGSEGV"},
                    Case{"abort", FailureKind::kCrash, "died of SIGABRT"},
                    Case{"exit", FailureKind::kCrash, "exited with 9"},
                    Case{"exit_after_record", FailureKind::kCrash, "exited with 9"},
                    Case{"speak_and_exit", FailureKind::kCrash, "exited with 1: no such kernel"},
                    Case{"silent", FailureKind::kCrash, "ended without a result"},
                    Case{"hang", FailureKind::kTimeout, "no answer within 100 ms", 100},
                    Case{"ignore_term", FailureKind::kTimeout, "no answer within 100 ms", 100},
                    Case{"kill", FailureKind::kLost, "killed from outside by SIGKILL"},
                    Case{"term", FailureKind::kLost, "killed from outside by SIGTERM"},
                    Case{"stop", FailureKind::kLost, "stopped from outside"},
                    Case{"leave_group", FailureKind::kTimeout, "no answer within 100 ms", 100},
                    Case{"spin", FailureKind::kTimeout, "no answer within 100 ms", 100},
                    Case{"garbage", FailureKind::kCrash, "sent a damaged result"},
                    Case{"truncated", FailureKind::kCrash, "sent a damaged result"},
                    Case{"flipped", FailureKind::kCrash, "sent a damaged result"},
                    Case{"twice", FailureKind::kCrash, "sent a damaged result"},
                    Case{"partial_then_segv", FailureKind::kCrash, "died of SIGSEGV"},
                    Case{"long_record", FailureKind::kCrash, "sent a result that is too long"},
                    Case{"big_file", FailureKind::kCrash, "died of SIGXFSZ"}),
    [](const auto& test) { return test.param.kind; });

TEST(ChildEnvironment, SetsTheThreadsAndThenWhatTheCallerAdds) {
  EXPECT_EQ(
      ChildEnvironment(2, /*bind=*/false, {"A=b"}),
      (std::vector<std::string>{"LC_ALL=C", "OMP_NUM_THREADS=2", "OMP_DYNAMIC=false", "A=b"}));
}

TEST(ChildEnvironment, BindsThreadsOnRequest) {
  const std::vector<std::string> all = ChildEnvironment(2, /*bind=*/true, {});
  EXPECT_EQ(all.back(), "OMP_PROC_BIND=true");
}

TEST(RunChild, GivesTheRecordOfAGoodChild) {
  const auto result = RunChild(Naughty("ok"));
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().record, "fine");
  EXPECT_EQ(result.value().stderr_text, "");
  EXPECT_GT(result.value().peak_rss_bytes, 0);
}

TEST(RunChild, PutsARecordTogetherThatComesInPieces) {
  const auto result = RunChild(Naughty("in_pieces"));
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().record, "fine");
}

TEST(RunChild, KeepsTheEndOfAFloodOfMessages) {
  ChildCommand command = Naughty("flood");
  command.limits.stderr_bytes = 100;
  const auto result = RunChild(command);
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().stderr_text.size(), 100U);
  EXPECT_TRUE(result.value().stderr_text.ends_with("x\nlast words\n"));
}

TEST(RunChild, DoesNotBlameAChildThatIsStoppedWhenItsTimeIsUp) {
  ChildCommand command = Naughty("stop");
  command.limits.timeout = milliseconds(3000);
  command.limits.stopped = milliseconds(20000);
  const auto result = RunChild(command);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), (Failure{FailureKind::kLost, "stopped from outside"}));
}

TEST(RunChild, WaitsForAChildThatIsStoppedForAWhile) {
  ChildCommand command = Naughty("stop_for_a_while");
  command.limits.idle = milliseconds(100);
  command.limits.stopped = milliseconds(20000);
  const auto result = RunChild(command);
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().record, "fine");
}

TEST(RunChild, NoticesAChildThatDoesNothingLongBeforeItsTimeIsUp) {
  ChildCommand command = Naughty("hang");
  command.limits.idle = milliseconds(100);
  const auto result = RunChild(command);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), (Failure{FailureKind::kTimeout, "did nothing for 100 ms"}));
}

TEST(RunChild, DoesNotTakeAChildThatWorksNowAndThenForOneThatDoesNothing) {
  ChildCommand command = Naughty("wait_and_work");
  command.limits.idle = milliseconds(200);
  const auto result = RunChild(command);
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  command = Naughty("spin");
  command.limits.idle = milliseconds(100);
  command.limits.timeout = milliseconds(500);
  const auto spun = RunChild(command);
  ASSERT_FALSE(spun.ok());
  EXPECT_EQ(spun.failure(), (Failure{FailureKind::kTimeout, "no answer within 500 ms"}));
}

TEST(RunChild, CountsMemoryThatIsOnlyReservedAsNone) {
  ChildCommand command = Naughty("reserve");
  command.limits.memory_bytes = std::int64_t{256} << 20U;
  const auto result = RunChild(command);
  ASSERT_TRUE(result.ok()) << result.failure().detail;
}

TEST(RunChild, ClassesAChildThatMeetsItsMemoryLimit) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more address space than any limit";
  ChildCommand command = Naughty("memory");
  command.limits.memory_bytes = std::int64_t{256} << 20U;
  const auto result = RunChild(command);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), (Failure{FailureKind::kOutOfMemory, "ran out of memory"}));
}

TEST(RunChild, ClassesAChildThatUsesUpItsProcessorTime) {
  ChildCommand command = Naughty("spin");
  command.limits.cpu_seconds = 1;
  const auto result = RunChild(command);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), (Failure{FailureKind::kTimeout, "used up its processor time"}));
}

TEST(RunChild, LeavesNoGrandchildAlive) {
  const auto result = RunChild(Naughty("grandchildren"));
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  const pid_t group = std::stoi(result.value().record);
  EXPECT_EQ(::kill(-group, 0), -1) << "somebody of the group is left";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "somebody is left to reap";
}

TEST(RunChild, ReturnsSoonAfterItIsToldToStop) {
  std::atomic<bool> stop = false;
  std::thread later([&stop] {
    std::this_thread::sleep_for(milliseconds(50));
    stop = true;
  });
  const auto result = RunChild(Naughty("hang"), [&stop] { return stop.load(); });
  later.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), (Failure{FailureKind::kLost, "stopped"}));
}

TEST(RunChild, GivesTheChildNothingOfItsOwnSurroundings) {
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  sigset_t blocked{};
  sigset_t before{};
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  std::signal(SIGPIPE, SIG_IGN);
  ChildCommand command = Naughty("surroundings");
  command.environment = {"LC_ALL=C"};
  command.cores = {0};
  const auto result = RunChild(command);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().record,
            "env LC_ALL=C; fds 0 1 2 3; core 0; leads its group 1; int blocked 0; cores 1");
}

ChildCommand Shell(const std::string& script) {
  ChildCommand command;
  command.argv = {"/bin/sh", "-c", script};
  command.reply = ChildReply::kText;
  return command;
}

TEST(RunChild, GivesTheTextOfAProgramThatKnowsNoRecords) {
  ChildCommand command = Shell("pwd; read line; echo got \"$line\"; echo aside >&2");
  command.folder = "/";
  const auto result = RunChild(command);
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().record, "/\ngot \n");
  EXPECT_EQ(result.value().stderr_text, "aside\n");
}

TEST(RunChild, GivesAProgramThatAnswersByTextNoOtherDescriptors) {
  // A pipe of the shell's own would be open while it starts the second program, and a shell that
  // has nothing left to do becomes ls, which opens the folder.
  const auto result = RunChild(Shell("ls /proc/$$/fd; true"));
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().record, "0\n1\n2\n");
}

TEST(RunChild, RefusesATextThatIsTooLongAndNone) {
  ChildCommand command = Shell("yes | head -c 100000");
  command.limits.record_bytes = 1000;
  EXPECT_EQ(RunChild(command).failure(),
            (Failure{FailureKind::kCrash, "sent a result that is too long"}));
  EXPECT_EQ(RunChild(Shell("true")).failure(),
            (Failure{FailureKind::kCrash, "ended without a result"}));
  // The status by which our own children say that memory ran out is any number to others.
  EXPECT_EQ(RunChild(Shell("exit 77")).failure(), (Failure{FailureKind::kCrash, "exited with 77"}));
}

TEST(RunChild, SaysWhichFolderCannotBeEntered) {
  ChildCommand command = Shell("true");
  command.folder = "/no/such/folder";
  try {
    (void)RunChild(command);
    FAIL() << "it ran";
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(),
                 "cannot enter the working directory of '/bin/sh': No such file or directory");
  }
}

TEST(RunChild, SaysWhichProgramCannotBeExecuted) {
  ChildCommand command;
  command.argv = {"/no/such/program"};
  try {
    (void)RunChild(command);
    FAIL() << "it ran";
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "cannot execute '/no/such/program': No such file or directory");
  }
}

TEST(RunChild, RunsSeveralAtATimeFromSeveralThreads) {
  std::atomic<int> good = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&good] {
      for (int k = 0; k < 5; ++k) good += RunChild(Naughty("ok")).ok() ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(good, 20);
}

TEST(Record, ReadsBackWhatItFramed) {
  for (const std::string& payload : {std::string(), std::string("a"), std::string(1000, char{0})}) {
    EXPECT_EQ(ParseRecord(FrameRecord(payload)), payload);
  }
}

TEST(Record, NoticesEveryDamagedByte) {
  const std::string good = FrameRecord("payload");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1U << bit));
      EXPECT_EQ(ParseRecord(bad), std::nullopt) << "byte " << i << " bit " << bit;
    }
    EXPECT_EQ(ParseRecord(good.substr(0, i)), std::nullopt) << "cut at " << i;
  }
}

}  // namespace
}  // namespace msc::cost
