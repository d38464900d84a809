#include "compiler/runtime/float_mode.h"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/runtime/executable.h"
#include "compiler/runtime/threads.h"
#include "tests/compiler/runtime/chain.h"
#include "tests/support/library_loop.h"

#if defined(__x86_64__)

namespace msc {
namespace {

constexpr float kSubnormal = 1e-40F;

/// Whether this thread multiplies subnormal numbers. Not what the compiler makes of them.
bool Multiplies() {
  const volatile float small = kSubnormal;
  const volatile float large = 1e30F;
  return small * large != 0;
}

TEST(FlushSubnormals, LastsAsLongAsItLives) {
  ASSERT_TRUE(Multiplies());
  {
    const FlushSubnormals flush;
    EXPECT_FALSE(Multiplies());
    {
      const FlushSubnormals again;
      EXPECT_FALSE(Multiplies());
    }
    EXPECT_FALSE(Multiplies());
  }
  EXPECT_TRUE(Multiplies());
}

TEST(FlushSubnormals, HoldsInThePartsOfALoopAndNotInTheNext) {
  const auto parts_that_multiply = [] {
    std::atomic<int> count = 0;
    ParallelFor(3, 3, [&](std::int64_t begin, std::int64_t end) {
      if (Multiplies()) count += static_cast<int>(end - begin);
    });
    return count.load();
  };
  EXPECT_EQ(parts_that_multiply(), 3);
  {
    const FlushSubnormals flush;
    EXPECT_EQ(parts_that_multiply(), 0);
  }
  EXPECT_EQ(parts_that_multiply(), 3);
}

/// How many parts of a loop that a library would write multiply subnormal numbers. Where nobody
/// asks for its threads, LLVM's OpenMP gives them the caller's mode and GCC's does not.
int LibraryPartsThatMultiply() {
  std::atomic<int> count = 0;
  test::LibraryLoop(
      3,
      [](void* object) {
        if (Multiplies()) ++*static_cast<std::atomic<int>*>(object);
      },
      &count);
  return count.load();
}

TEST(FlushSubnormals, HoldsInLoopsOfLibrariesWhereAskedFor) {
  EXPECT_EQ(LibraryPartsThatMultiply(), 3);
  {
    const FlushSubnormals flush(3);
    EXPECT_EQ(LibraryPartsThatMultiply(), 0);
    {
      const FlushSubnormals again(3);
      EXPECT_EQ(LibraryPartsThatMultiply(), 0);
    }
    EXPECT_EQ(LibraryPartsThatMultiply(), 0);
  }
  EXPECT_EQ(LibraryPartsThatMultiply(), 3);
}

TEST(Executable, HandsItsModeToThePoolForStepsThatAskForIt) {
  const Chain chain(1);
  ASSERT_EQ(LibraryPartsThatMultiply(), 3);
  ExecutableBuilder builder(chain.graph);
  int multiply = -1;
  Step step = AddStep(builder.BufferOf(chain.input), builder.BufferOf(chain.values[0]), 0.0F);
  step.pool_threads = 3;
  step.run = [&](const StepContext& /*context*/) { multiply = LibraryPartsThatMultiply(); };
  builder.AddStep(std::move(step));
  const Executable executable = std::move(builder).Build();
  (void)executable.Run(OneInput(0.0F));
  EXPECT_EQ(multiply, 0);
  EXPECT_EQ(LibraryPartsThatMultiply(), 3);
}

TEST(Executable, TakesSubnormalNumbersForZero) {
  const Chain chain(1);
  ExecutableBuilder builder(chain.graph);
  builder.AddStep(AddStep(builder.BufferOf(chain.input), builder.BufferOf(chain.values[0]), 0.0F));
  const Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.Run(OneInput(kSubnormal))[0], Filled(0.0F));
  EXPECT_EQ(executable.Run(OneInput(1e-30F))[0], Filled(1e-30F));
  EXPECT_TRUE(Multiplies());
}

}  // namespace
}  // namespace msc

#endif
