// Which matrix products ask for the weights of their next tile of channels while they compute.

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/kernel/print.h"
#include "compiler/ops/op.h"
#include "tests/compiler/targets/native/interpreted.h"

namespace msc::native {
namespace {

/// The kernel of a product of so many rows with weights [depth, channels].
std::string KernelOf(int rows, int depth, int channels) {
  const std::string d = std::to_string(depth);
  Graph graph = ParseGraph("graph g {\n  input %x : f32[" + std::to_string(rows) + "," + d +
                           "]\n  const %w : f32[" + std::to_string(channels) + "," + d +
                           "] = random 4\n  %y = msc.Gemm(%x, %w) {y_type = 1}\n  output %y\n}");
  InferTypes(graph);
  const kernel::Program program = ProgramOf(graph);
  std::string text;
  for (const kernel::KernelFunc& func : program.funcs) text += Print(func);
  return text;
}

std::size_t Prefetches(const std::string& kernel, const std::string& text = "prefetch") {
  std::size_t count = 0;
  for (auto at = kernel.find(text); at != std::string::npos; ++count) {
    at = kernel.find(text, at + 1);
  }
  return count;
}

TEST(NativePrefetch, IsOfWeightsThatSomeTilesOfRowsShare) {
  const std::string kernel = KernelOf(36, 64, 80);
  EXPECT_GT(Prefetches(kernel), 0U) << kernel;
  EXPECT_EQ(Prefetches(kernel, "prefetch b1["), Prefetches(kernel)) << kernel;
}

TEST(NativePrefetch, IsNotWhereWeightsAreReadOnceOrVeryOften) {
  EXPECT_EQ(Prefetches(KernelOf(1, 64, 80)), 0U) << "one tile of rows: it runs ahead by itself";
  EXPECT_EQ(Prefetches(KernelOf(2000, 64, 80)), 0U) << "reading them first hardly counts";
}

}  // namespace
}  // namespace msc::native
