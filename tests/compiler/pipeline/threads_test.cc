// Several threads run one artefact at once, on every target that this machine has.

#include <barrier>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/sanitizer.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/artefact.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

constexpr std::size_t kThreads = 4;

// Small enough for the interpreter.
Graph Net() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[1,8,20,20]
    const %w1 : f32[16,8,3,3] = random 1
    const %w2 : f32[16,16,1,1] = random 2
    const %w3 : f32[10,16] = random 3
    const %b3 : f32[10] = random 4
    %a = Conv(%x, %w1) @conv {pads = [1, 1, 1, 1]}
    %b = Relu(%a) @relu
    %c = Conv(%b, %w2) @pointwise
    %d = Add(%c, %b) @sum
    %e = GlobalAveragePool(%d) @pool
    %f = Flatten(%e) @flat
    %g = Gemm(%f, %w3, %b3) @fc {transB = 1}
    output %g
    output %d
  })");
  InferTypes(graph);
  return graph;
}

/// An artefact with inputs a thread, and what they give while nobody else runs it.
struct Loaded {
  Executable executable;
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<Tensor>> expected;
};

Loaded Load(const Strategy& strategy, const TargetRegistry& targets, int threads) {
  const std::string folder = testing::TempDir() + "threads_" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() +
                             std::to_string(threads);
  WriteArtefact(folder, Net(), strategy, targets, {.threads = threads, .bindings = {}});
  Result<Artefact> artefact = LoadArtefact(folder, targets);
  if (!artefact.ok()) throw UserError(artefact.failure().detail);
  Loaded loaded{.executable = std::move(artefact.value().executable), .inputs = {}, .expected = {}};
  for (std::size_t i = 0; i < kThreads; ++i) {
    loaded.inputs.push_back({RandomTensor({1, 8, 20, 20}, i + 1)});
    loaded.expected.push_back(loaded.executable.Run(loaded.inputs.back()));
  }
  return loaded;
}

/// Thread i runs `loaded[i % size]` so many times, all of them at once.
void ExpectTheSameFromAllThreads(const std::vector<const Loaded*>& loaded, int rounds) {
  std::barrier start(static_cast<std::ptrdiff_t>(kThreads));
  std::vector<int> wrong(kThreads, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const Loaded& mine = *loaded[i % loaded.size()];
        start.arrive_and_wait();
        for (int round = 0; round < rounds; ++round) {
          if (mine.executable.Run(mine.inputs[i]) != mine.expected[i]) ++wrong[i];
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

constexpr const char* kMixed = "mixed";

/// All on one target, or on native with a part in the middle on onednn.
Strategy StrategyOf(const std::string& name) {
  Strategy strategy;
  strategy.target = name;
  if (name != kMixed) return strategy;
  strategy.target = "native";
  strategy.partition = {{{"conv", "relu"}, "native"},
                        {{"pointwise", "sum"}, "onednn"},
                        {{"pool", "flat", "fc"}, "native"}};
  return strategy;
}

/// Why the strategy cannot be compiled here, or empty if it can.
std::string WhyAbsent(const Strategy& strategy, const TargetRegistry& targets) {
  try {
    (void)targets.Get(strategy.target);
    for (const PartitionRegion& region : strategy.partition) (void)targets.Get(region.target);
  } catch (const UserError& absent) {
    return absent.what();
  }
  return "";
}

class ThreadsOfOneArtefact : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool ours = GetParam() == "reference" || GetParam() == "native";
    if (kThreadSanitized && !ours) GTEST_SKIP() << "the sanitizer does not see into libraries";
    const std::string why = WhyAbsent(strategy_, targets_);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  const TargetRegistry targets_ = Targets();
  const Strategy strategy_ = StrategyOf(GetParam());
};

TEST_P(ThreadsOfOneArtefact, ComputeWhatOneComputes) {
  const Loaded loaded = Load(strategy_, targets_, 1);
  EXPECT_NE(loaded.expected[0], loaded.expected[1]);
  // What two threads must not share is shared for a moment of each step only; where a run takes
  // long, they meet in it anyhow.
  ExpectTheSameFromAllThreads({&loaded}, GetParam() == "reference" ? 10 : 500);
}

TEST_P(ThreadsOfOneArtefact, MayMeetThoseOfAnotherWithOtherThreadsInside) {
  const Loaded one = Load(strategy_, targets_, 1);
  const Loaded two = Load(strategy_, targets_, 2);
  ExpectTheSameFromAllThreads({&one, &two}, 10);
}

std::vector<std::string> Names() {
  const TargetRegistry targets = Targets();
  std::vector<std::string> names = {kMixed};
  for (const auto& [name, kind] : targets.kinds()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, ThreadsOfOneArtefact, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

std::ptrdiff_t ThreadsOfThisProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(ThreadsOfAMix, AreNoMoreThanItWasCompiledFor) {
  if (kSanitized) GTEST_SKIP() << "Clang's OpenMP and the library's are two";
  const TargetRegistry targets = Targets();
  const Strategy strategy = StrategyOf(kMixed);
  const std::string why = WhyAbsent(strategy, targets);
  if (!why.empty()) GTEST_SKIP() << why;
  const std::ptrdiff_t before = ThreadsOfThisProcess();
  const Loaded loaded = Load(strategy, targets, 2);
  std::set<std::string> ran;
  for (const Step& step : loaded.executable.steps()) ran.insert(step.target);
  EXPECT_EQ(ran, (std::set<std::string>{"native", "onednn"}));
  EXPECT_LE(ThreadsOfThisProcess() - before, 1) << "the caller is one of the two";
}

}  // namespace
}  // namespace msc
