// Which kernels write their results over an operand, and that all numbers stay those of the
// reference kernels. Kernels are interpreted, so nothing is compiled.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/compiler/targets/native/interpreted.h"

namespace msc::native {
namespace {

struct Case {
  const char* label;
  std::string text;
  std::vector<std::string> in_place;  ///< kernels
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.label; }
};

/// Kernels that read and write the same memory.
std::vector<std::string> InPlace(const kernel::Program& program) {
  std::vector<std::string> names;
  for (const kernel::ProgramCall& call : program.calls) {
    const std::vector<kernel::Buffer>& buffers = program.funcs[call.func].buffers;
    const bool both = std::any_of(buffers.begin(), buffers.end(), [](const kernel::Buffer& buffer) {
      return buffer.access == kernel::Access::kReadWrite;
    });
    if (both) names.push_back(call.name);
  }
  return names;
}

class NativeInPlace : public testing::TestWithParam<Case> {};

TEST_P(NativeInPlace, IsWhereNobodyReadsTheOperandAfterwards) {
  Graph graph = ParseGraph(GetParam().text);
  InferTypes(graph);
  const kernel::Program program = ProgramOf(graph);
  EXPECT_EQ(InPlace(program), GetParam().in_place);

  const std::vector<Tensor> inputs = RandomFloats(graph);
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  const std::vector<Tensor> got = Interpreted(program, graph, inputs);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto a = got[i].Values<float>();
    const auto b = wanted[i].Values<float>();
    for (std::size_t at = 0; at < b.size(); ++at) {
      ASSERT_NEAR(a[at], b[at], 1e-4 * (1 + std::abs(b[at]))) << i << ": " << at;
    }
  }
}

// %s has two readers mostly, so that it is the prologue of none.

/// %p is a product of %x; `lines` make %s, and what else is an output.
std::string Products(const std::string& lines) {
  return R"(graph g {
  input %x : f32[4,8]
  const %a : f32[8,8] = random 1
  const %b : f32[8,8] = random 2
  const %c : f32[16,8] = random 3
  %p = msc.Gemm(%x, %a) @p {y_type = 1})" +
         lines + R"(  %y = msc.Gemm(%s, %a) @y {y_type = 1}
  %z = msc.Gemm(%s, %b) @z {y_type = 1}
  output %y
  output %z
})";
}

const Case kCases[] = {
    {"chain",
     Products(R"(
  %t = Tanh(%p) @t
  %s = Add(%p, %t) @s
)"),
     {"t+s"}},
    {"read_later",
     Products(R"(
  %t = Tanh(%p) @t
  %s = Add(%p, %t) @s
  %q = msc.Gemm(%p, %a) @q {y_type = 1}
  output %q
)"),
     {}},
    {"leaves",
     Products(R"(
  %t = Tanh(%p) @t
  %s = Add(%p, %t) @s
  output %s
)"),
     {}},
    {"input",
     Products(R"(
  %t = Tanh(%x) @t
  %s = Add(%x, %t) @s
)"),
     {}},
    {"residual",
     Products(R"(
  %r = msc.Gemm(%x, %b) @r {y_type = 1}
  %s = msc.Gemm(%p, %a, _, %r) @s {y_type = 1}
)"),
     {"s"}},
    {"residual_is_input",
     Products(R"(
  %s = msc.Gemm(%p, %a, _, %p) @s {y_type = 1}
)"),
     {}},
    {"siblings",
     Products(R"(
  %w = msc.Gemm(%x, %c) @w {y_type = 1}
  %l, %r = Split(%w) @split {axis = 1}
  %s = Mul(%l, %r) @s
)"),
     {}},
    {"sibling_read_later",
     Products(R"(
  %w = msc.Gemm(%x, %c) @w {y_type = 1}
  %l, %r = Split(%w) @split {axis = 1}
  %s = Tanh(%l) @s
  %q = msc.Gemm(%r, %a) @q {y_type = 1}
  output %q
)"),
     {}},
    {"transposed",
     R"(graph g {
  input %x : f32[8,8]
  const %a : f32[8,8] = random 1
  const %b : f32[8,8] = random 2
  %p = msc.Gemm(%x, %a) @p {y_type = 1}
  %t = Transpose(%p) @t {perm = [1, 0]}
  %s = Add(%p, %t) @s
  %y = msc.Gemm(%s, %a) @y {y_type = 1}
  %z = msc.Gemm(%s, %b) @z {y_type = 1}
  output %y
  output %z
})",
     {}},
    {"halo",
     R"(graph g {
  input %x : f32[1,5,6,7]
  const %a : f32[5,5,3,3] = random 1
  %p = msc.Conv(%x, %a) @p {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  %q = msc.Conv(%p, %a) @q {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  %s = msc.Conv(%q, %a, _, %p) @s {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  %y = msc.Conv(%s, %a) @y {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  output %y
})",
     {"s"}},
    {"no_halo",
     R"(graph g {
  input %x : f32[1,5,6,7]
  const %a : f32[5,5,3,3] = random 1
  const %d : f32[5,5,1,1] = random 2
  %p = msc.Conv(%x, %a) @p {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  %q = msc.Conv(%p, %d) @q {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  %s = msc.Conv(%q, %d, _, %p) @s {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  %y = msc.Conv(%s, %a) @y {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  output %y
})",
     {}},
    {"part",
     R"(graph g {
  input %x : f32[4,8]
  const %a : f32[8,8] = random 1
  const %b : f32[8,16] = random 2
  %p = msc.Gemm(%x, %a) @p {y_type = 1}
  %q = msc.Gemm(%x, %a) @q {y_type = 1}
  %w = Concat(%p, %q) @w {axis = 1}
  %s = Tanh(%p) @s
  %y = msc.Gemm(%w, %b) @y {y_type = 1}
  %z = msc.Gemm(%s, %a) @z {y_type = 1}
  %v = msc.Gemm(%s, %a) @v {y_type = 1}
  output %y
  output %z
  output %v
})",
     {}},
};

INSTANTIATE_TEST_SUITE_P(Cases, NativeInPlace, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& one) {
                           return std::string(one.param.label);
                         });

}  // namespace
}  // namespace msc::native
