// Runs at once: each has a workspace of its own, and none is made without need.

#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "tests/compiler/runtime/chain.h"

namespace msc {
namespace {

// x -> v0 -> v1 by a step that keeps its own address of v0, and calls `inside` on the way.
Executable BuildWithOwnRuns(const Chain& chain, std::atomic<int>& made,
                            const std::function<void()>& inside) {
  ExecutableBuilder builder(chain.graph);
  const BufferId middle = builder.BufferOf(chain.values[0]);
  builder.AddStep(AddStep(builder.BufferOf(chain.input), middle, 1.0F));
  Step keeps{.name = "keeps",
             .target = "test",
             .nodes = {"n"},
             .precision = "",
             .reads = {middle},
             .writes = {middle},
             .run = {}};
  keeps.make_run = [middle, inside, &made]() -> Step::Run {
    ++made;
    return [middle, inside,
            kept = static_cast<std::byte*>(nullptr)](const StepContext& context) mutable {
      if (kept == nullptr) kept = context.At(middle);
      EXPECT_EQ(kept, context.At(middle)) << "a run stays with one arena";
      inside();
    };
  };
  builder.AddStep(std::move(keeps));
  builder.AddStep(AddStep(middle, builder.BufferOf(chain.values[1]), 1.0F));
  return std::move(builder).Build();
}

TEST(Workspaces, AreOneForEachOfTheRunsAtOnce) {
  std::atomic<int> made = 0;
  std::barrier both_inside(2);
  const Executable executable =
      BuildWithOwnRuns(Chain(2), made, [&] { both_inside.arrive_and_wait(); });
  EXPECT_EQ(made, 1) << "the first one is made with the executable";
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> outputs(2);
    {
      const auto run = [&](std::size_t i) {
        outputs[i] = std::move(executable.Run(OneInput(static_cast<float>(10 * i)))[0]);
      };
      const std::jthread other(run, 1);
      run(0);
    }
    EXPECT_EQ(outputs[0], Filled(2.0F));
    EXPECT_EQ(outputs[1], Filled(12.0F));
    EXPECT_EQ(made, 2) << "and stays for later runs";
  }
}

TEST(Workspaces, AreOneForRunsAfterEachOther) {
  std::atomic<int> made = 0;
  Executable first = BuildWithOwnRuns(Chain(2), made, [] {});
  for (int i = 0; i < 3; ++i) (void)first.Run(OneInput(1.0F));
  const Executable second = std::move(first);
  EXPECT_EQ(second.Run(OneInput(1.0F))[0], Filled(3.0F));
  EXPECT_EQ(made, 1);
}

TEST(Workspaces, ComeBackFromAStepThatThrew) {
  std::atomic<int> made = 0;
  bool fails = true;
  const Executable executable = BuildWithOwnRuns(Chain(2), made, [&] {
    if (fails) throw UserError("not now");
  });
  EXPECT_THROW((void)executable.Run(OneInput(1.0F)), UserError);
  fails = false;
  EXPECT_EQ(executable.Run(OneInput(1.0F))[0], Filled(3.0F));
  EXPECT_EQ(made, 1);
}

TEST(Workspaces, AllGetANewConstantButNotDuringARun) {
  Chain chain(1);
  const ValueId constant = chain.graph.AddConstant("c", Filled(9.0F));
  ExecutableBuilder builder(chain.graph);
  const BufferId buffer = builder.BufferOf(constant);
  std::barrier both_inside(2);
  Step add = AddStep(buffer, builder.BufferOf(chain.values[0]), 1.0F);
  add.run = [&, run = add.run](const StepContext& context) {
    both_inside.arrive_and_wait();
    run(context);
    both_inside.arrive_and_wait();
  };
  builder.AddStep(std::move(add));
  Executable executable = std::move(builder).Build();
  const auto other = std::make_shared<const Tensor>(Filled(20.0F));
  const auto expect_both = [&](float value) {
    const auto run = [&] { EXPECT_EQ(executable.Run(OneInput(0.0F))[0], Filled(value)); };
    const std::jthread beside(run);
    run();
  };
  expect_both(10.0F);
  executable.SetConstant(buffer, other);
  expect_both(21.0F);
  const std::jthread runs([&] { (void)executable.Run(OneInput(0.0F)); });
  both_inside.arrive_and_wait();
  EXPECT_THROW(executable.SetConstant(buffer, other), InternalError);
  both_inside.arrive_and_wait();
}

}  // namespace
}  // namespace msc
