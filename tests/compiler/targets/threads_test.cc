// No library takes more cores than it was asked to: what it starts is counted.

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/sanitizer.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"

namespace msc {
namespace {

std::ptrdiff_t ThreadsOfThisProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

class TargetThreads : public testing::TestWithParam<std::string> {};

TEST_P(TargetThreads, StartsNoMoreThanItWasAskedFor) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  Graph graph = ParseGraph(R"(graph g {
  input %x : f32[1,32,28,28]
  const %w : f32[64,32,1,1] = random 1
  %y = Conv(%x, %w)
  output %y
})");
  InferTypes(graph);
  const Region region{.graph = &graph, .nodes = graph.order()};
  const std::vector<Tensor> inputs = {Tensor(DType::kF32, {1, 32, 28, 28})};
  // The caller is one of them. A library may start one more that sleeps, when it is first used:
  // ONNX Runtime has one for its own housekeeping.
  for (const int threads : {1, 3}) {
    const std::ptrdiff_t before = ThreadsOfThisProcess();
    const Target* target = nullptr;
    try {
      target = &registry.Get(GetParam() + ":threads=" + std::to_string(threads));
    } catch (const UserError& absent) {
      GTEST_SKIP() << absent.what();
    }
    if (!target->Supports(graph, graph.order()[0])) GTEST_SKIP() << "does not run Conv";
    ExecutableBuilder builder(graph);
    ASSERT_FALSE(target->GraphToRuntime(region, {.threads = 8}, builder).has_value());
    Executable executable = std::move(builder).Build();
    for (int i = 0; i < 3; ++i) (void)executable.Run(inputs);
    // Sanitizers may start one of their own.
    const int more = kSanitized ? 1 : 0;
    EXPECT_LE(ThreadsOfThisProcess() - before, (threads == 1 ? 1 : threads - 1) + more);
  }
}

std::vector<std::string> Names() {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  std::vector<std::string> names;
  for (const auto& [name, kind] : registry.kinds()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, TargetThreads, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace msc
