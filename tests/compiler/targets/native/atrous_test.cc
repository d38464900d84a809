// Convolutions whose taps lie in the padding for many pixels or for all, as those of atrous
// convolutions on small images do. Kernels are interpreted, so nothing is compiled.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
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
  const char* image;
  const char* weights;
  const char* attrs;
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.label; }
};

std::string Text(const Case& one) {
  return std::string("graph g {\n  input %x : f32[") + one.image + "]\n  const %w : f32[" +
         one.weights + "] = random 4\n  %y = Conv(%x, %w) @conv {" + one.attrs +
         "}\n  output %y\n}";
}

class NativeAtrous : public testing::TestWithParam<Case> {};

TEST_P(NativeAtrous, GivesTheNumbersOfTheReference) {
  Graph graph = ParseGraph(Text(GetParam()));
  InferTypes(graph);
  const std::vector<Tensor> inputs = RandomFloats(graph);
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  const std::vector<Tensor> got = Interpreted(ProgramOf(graph), graph, inputs);
  ASSERT_EQ(got.size(), 1U);
  const auto a = got[0].Values<float>();
  const auto b = wanted[0].Values<float>();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t at = 0; at < b.size(); ++at) {
    ASSERT_NEAR(a[at], b[at], 1e-4 * (1 + std::abs(b[at]))) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Windows, NativeAtrous,
    testing::Values(
        Case{"reaches_most_of_the_image", "1,5,14,14", "9,5,3,3",
             "pads = [12, 12, 12, 12], dilations = [12, 12]"},
        Case{"reaches_further_than_the_image", "2,5,14,9", "9,5,3,3",
             "pads = [24, 36, 24, 36], dilations = [24, 36]"},
        Case{"reaches_a_little", "1,3,9,30", "9,3,3,3", "pads = [4, 4, 4, 4], dilations = [4, 4]"},
        Case{"of_groups_with_strides", "1,6,11,13", "8,3,3,3",
             "group = 2, pads = [1, 4, 6, 7], dilations = [4, 5], strides = [2, 3]"},
        Case{"of_adjacent_columns", "1,4,8,7", "9,4,5,3",
             "pads = [8, 1, 8, 1], dilations = [4, 1]"},
        Case{"of_adjacent_rows", "1,4,7,8", "9,4,3,5", "pads = [1, 8, 1, 8], dilations = [1, 4]"},
        Case{"whose_first_taps_are_nearer_than_a_step", "1,3,5,5", "9,3,3,3",
             "pads = [6, 6, 6, 6], dilations = [7, 7]"},
        Case{"with_padding_behind_alone", "1,3,5,6", "9,3,4,4",
             "pads = [0, 0, 20, 20], dilations = [6, 6]"},
        Case{"with_padding_in_front_alone", "1,3,5,6", "9,3,4,4",
             "pads = [20, 20, 0, 0], dilations = [6, 6]"},
        Case{"that_sees_padding_alone", "1,3,2,2", "9,3,2,2",
             "pads = [0, 3, 0, 0], dilations = [1, 1], strides = [1, 4]"},
        Case{"by_depth", "1,9,6,7", "9,1,3,3",
             "group = 9, pads = [5, 8, 5, 8], dilations = [5, 8]"}),
    [](const auto& param) { return param.param.label; });

/// Zero times infinity would be NaN.
TEST(NativeAtrous, LeavesOutTapsOfPadding) {
  Graph graph =
      ParseGraph(Text({"", "1,5,14,4", "9,5,3,1", "pads = [12, 0, 12, 0], dilations = [12, 1]"}));
  InferTypes(graph);
  Tensor weights(DType::kF32, {9, 5, 3, 1});
  const auto all = weights.MutableValues<float>();
  for (std::size_t at = 0; at < all.size(); ++at) {
    all[at] = at % 3 == 0 ? std::numeric_limits<float>::infinity() : 1.0F;
  }
  graph.SetConstant(graph.FindValue("w"), std::make_shared<const Tensor>(std::move(weights)));
  const Tensor y = Interpreted(ProgramOf(graph), graph, RandomFloats(graph))[0];
  for (std::size_t at = 0; at < y.Values<float>().size(); ++at) {
    const std::size_t row = at / 4 % 14;
    EXPECT_EQ(std::isfinite(y.Values<float>()[at]), row < 12) << at;
  }
}

TEST(NativeAtrous, HasNoHaloForTapsThatSeePaddingAlone) {
  Graph graph = ParseGraph(
      Text({"", "1,16,10,10", "16,16,3,3", "pads = [36, 36, 36, 36], dilations = [36, 36]"}));
  InferTypes(graph);
  for (const kernel::ProgramBuffer& buffer : ProgramOf(graph).buffers) {
    EXPECT_LE(buffer.bytes, 16U * 10 * 10 * sizeof(float) + 256);
  }
}

/// In sums of bytes padding is the zero point, whose product with a weight counts.
TEST(NativeAtrous, OfBytesIsExact) {
  Graph graph = ParseGraph(R"(graph g {
  input %x : u8[1,3,6,7]
  const %w : i8[9,3,3,3] = random 4
  const %o : f32[1] = [0.0078125]
  %y = msc.Conv(%x, %w, _, _, %o) @conv {kernel_shape = [3, 3], strides = [1, 1], pads = [4, 9, 4, 9], dilations = [4, 9], group = 1, x_scale = 0.03125, x_zero_point = 77, y_type = 1}
  output %y
})");
  InferTypes(graph);
  Tensor x(DType::kU8, {1, 3, 6, 7});
  std::uint8_t value = 3;
  for (std::uint8_t& byte : x.MutableValues<std::uint8_t>()) byte = value += 37;
  const std::vector<Tensor> inputs = {x};
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  const std::vector<Tensor> got = Interpreted(ProgramOf(graph), graph, inputs);
  EXPECT_EQ(got[0], wanted[0]);
}

}  // namespace
}  // namespace msc::native
