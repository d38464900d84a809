// Which nodes become one kernel, and that it computes what they do. Kernels are interpreted, so
// nothing is compiled.

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/native/native.h"
#include "compiler/targets/target.h"
#include "tests/compiler/targets/native/interpreted.h"

namespace msc::native {
namespace {

struct Fused {
  const char* label;
  const char* text;
  std::vector<std::string> calls;  ///< one a kernel: its nodes by name, or what it moves
  friend void PrintTo(const Fused& fused, std::ostream* out) { *out << fused.label; }
};

Tensor RandomTensor(const ValueType& type, std::uint64_t seed) {
  Rng rng(seed);
  Tensor tensor(type.dtype, *StaticDims(*type.shape));
  if (type.dtype == DType::kF32) {
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  } else if (type.dtype == DType::kBF16) {
    for (std::uint16_t& x : tensor.MutableValues<std::uint16_t>()) {
      x = ToBF16(static_cast<float>(rng.Normal()));
    }
  } else {
    for (std::byte& x : tensor.MutableRaw()) x = static_cast<std::byte>(rng.Below(256));
  }
  return tensor;
}

double ElementOf(const Tensor& tensor, std::size_t i) {
  if (tensor.dtype() == DType::kF32) return tensor.Values<float>()[i];
  if (tensor.dtype() == DType::kBF16) return FromBF16(tensor.Values<std::uint16_t>()[i]);
  if (tensor.dtype() == DType::kU8) return tensor.Values<std::uint8_t>()[i];
  return tensor.Values<std::int8_t>()[i];
}

/// One step of integers, one of bf16, or what sums of f32 lose.
double Allowed(DType dtype, double value) {
  if (dtype == DType::kBF16) return std::abs(value) / 128 + 1e-5;
  return dtype == DType::kF32 ? 2e-5 * (1 + std::abs(value)) : 1;
}

class NativeFusion : public testing::TestWithParam<Fused> {};

TEST_P(NativeFusion, MakesTheseKernelsWithTheSameNumbers) {
  Graph graph = ParseGraph(GetParam().text);
  InferTypes(graph);
  TargetRegistry targets;
  targets.Add(NativeKind());
  const Target& target = targets.Get("native:isa=baseline");
  for (const NodeId id : graph.order()) {
    ASSERT_TRUE(target.Supports(graph, id)) << graph.node(id).name;
  }
  const auto program = target.GraphToKernel({.graph = &graph, .nodes = graph.order()}, {});
  ASSERT_TRUE(program.ok());
  std::vector<std::string> calls;
  for (const kernel::ProgramCall& call : program.value().calls) calls.push_back(call.name);
  EXPECT_EQ(calls, GetParam().calls);

  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    inputs.push_back(RandomTensor(graph.type(input), inputs.size() + 1));
  }
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  const std::vector<Tensor> got = Interpreted(program.value(), graph, inputs);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(got[i].dtype(), wanted[i].dtype());
    ASSERT_EQ(got[i].dims(), wanted[i].dims());
    for (std::size_t at = 0; at < static_cast<std::size_t>(wanted[i].size()); ++at) {
      const double value = ElementOf(wanted[i], at);
      ASSERT_NEAR(ElementOf(got[i], at), value, Allowed(wanted[i].dtype(), value))
          << "output " << i << " at " << at;
    }
  }
}

const Fused kEpilogues[] = {
    {"softmax_of_rows",
     R"(graph g {
  input %x : f32[2,3,11]
  input %r : f32[11]
  const %g : f32[11] = random 3
  %s = Softmax(%x) @soft
  %m = Mul(%s, %g) @scaled
  %a = Add(%r, %m) @added
  %y = Sigmoid(%a) @closed
  output %y
})",
     {"soft+scaled+added+closed"}},
    {"softmax_and_a_value",
     R"(graph g {
  input %x : f32[2,3,11]
  input %r : f32[2,3,11]
  %s = Softmax(%x) @soft
  %a = Add(%r, %s) @added
  %y = Tanh(%a) @closed
  output %y
})",
     {"soft+added+closed"}},
    {"softmax_to_bytes",
     R"(graph g {
  input %x : f32[5,19]
  const %s : f32[] = [0.004]
  const %z : u8[] = [3]
  %p = Softmax(%x) @soft
  %y = QuantizeLinear(%p, %s, %z) @codes
  output %y
})",
     {"soft+codes"}},
    {"softmax_read_twice",
     R"(graph g {
  input %x : f32[5,19]
  %p = Softmax(%x) @soft
  %y = Relu(%p) @one
  %z = Neg(%p) @other
  output %y
  output %z
})",
     {"soft", "one", "other"}},
    {"softmax_by_channels",
     R"(graph g {
  input %x : f32[1,3,2,7]
  const %c : f32[3,1,1] = random 3
  %s = Softmax(%x) @soft
  %m = Mul(%s, %c) @scaled
  %y = Relu(%m) @closed
  output %y
})",
     {"soft", "scaled+closed"}},
    {"softmax_into_a_part",
     R"(graph g {
  input %x : f32[2,3,4,8]
  input %z : f32[2,2,4,8]
  %s = Softmax(%x) @soft
  %m = Neg(%s) @turned
  %y = Concat(%m, %z) @both {axis = 1}
  output %y
})",
     {"soft", "reorder s", "turned", "both", "reorder y"}},
    {"layer_norm",
     R"(graph g {
  input %x : f32[2,3,18]
  input %r : f32[2,3,18]
  const %g : f32[18] = random 3
  const %b : f32[18] = random 4
  const %s : f32[] = [0.05]
  const %z : i8[] = [-4]
  %n = LayerNormalization(%x, %g, %b) @norm
  %a = Add(%n, %r) @added
  %e = msc.Gelu(%a) @closed {op = "Gelu"}
  %y = QuantizeLinear(%e, %s, %z) @codes
  output %y
})",
     {"norm+added+closed+codes"}},
    {"layer_norm_to_bf16",
     R"(graph g {
  input %x : f32[6,18]
  const %g : f32[18] = random 3
  %n = LayerNormalization(%x, %g) @norm
  %y = Cast(%n) @narrow {to = 16}
  output %y
})",
     {"norm+narrow"}},
    {"reduce",
     R"(graph g {
  input %x : f32[2,6,5]
  input %r : f32[2,6,1]
  input %t : f32[2,5]
  %m = ReduceMean(%x) @mean {axes = [-1], keepdims = 1}
  %a = Sub(%m, %r) @centred
  %y = Relu(%a) @closed
  %n = ReduceMax(%x) @most {axes = [1], keepdims = 0}
  %z = Mul(%t, %n) @scaled
  output %y
  output %z
})",
     {"mean+centred+closed", "reorder x", "most+scaled"}},
    {"reduce_in_front_of_a_window",
     R"(graph g {
  input %x : f32[1,4,5,6]
  const %w : f32[3,2,3,3] = random 3
  %m = ReduceMean(%x) @mean {axes = [1], keepdims = 1}
  %n = ReduceMax(%x) @most {axes = [1], keepdims = 1}
  %c = Concat(%m, %n) @both {axis = 1}
  %y = msc.Conv(%c, %w) @conv {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  output %y
})",
     {"reorder x", "halo c", "mean", "most", "conv", "reorder y"}},
    {"attention",
     R"(graph g {
  input %q : f32[1,5,2,6]
  input %k : f32[1,7,2,6]
  input %v : f32[1,7,2,9]
  input %r : f32[1,5,2,9]
  const %b : f32[2,1] = random 3
  %a = msc.Attention(%q, %k, %v) @heads {scale = 0.5, q_perm = [0, 2, 1, 3], k_perm = [0, 2, 1, 3], v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}
  %m = Mul(%a, %b) @scaled
  %y = Add(%m, %r) @added
  output %y
})",
     {"heads+scaled+added"}},
};

INSTANTIATE_TEST_SUITE_P(Epilogues, NativeFusion, testing::ValuesIn(kEpilogues),
                         [](const auto& test) { return std::string(test.param.label); });

/// A value that another part of the model reads too, and what stands in front of its reader.
const Fused kPrologues[] = {
    {"scale_and_activation",
     R"(graph g {
  input %x : f32[2,37,6,5]
  input %z : f32[2,4,6,5]
  const %s : f32[41] = random 3
  const %b : f32[41] = random 4
  const %m : f32[41] = random 5
  const %v : f32[41] = splat 1.5
  const %w : f32[9,41,1,1] = random 6
  const %u : f32[3,9,3,3] = random 7
  %c = Concat(%x, %z) @both {axis = 1}
  %n = BatchNormalization(%c, %s, %b, %m, %v) @norm
  %r = Relu(%n) @relu
  %p = msc.Conv(%r, %w) @point {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, activation = "Relu", y_type = 1}
  %q = msc.Conv(%p, %u) @window {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, y_type = 1}
  output %q
  output %c
})",
     {"both", "both", "reorder c", "halo p", "norm+relu+point", "window", "reorder q"}},
    {"rows_of_an_image_at_once",
     R"(graph g {
  input %x : f32[1,6,28,3]
  input %t : f32[1,6,1,1]
  const %w : f32[5,6,1,1] = random 6
  %a = Mul(%x, %t) @scaled
  %p = msc.Conv(%a, %w) @point {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  %y = Tanh(%p) @closed
  output %y
})",
     {"reorder x", "scaled+point+closed", "reorder y"}},
    {"codes",
     R"(graph g {
  input %x : u8[1,19,4,6]
  const %g : f32[19,1,1] = random 3
  const %s : f32[] = [0.0625]
  const %z : u8[] = [7]
  const %t : f32[] = [0.03125]
  const %i : i8[] = [-9]
  const %w : i8[10,19,1,1] = random 4
  const %o : f32[1] = [0.0078125]
  %d = DequantizeLinear(%x, %s, %z) @wide
  %m = Mul(%d, %g) @scaled
  %q = QuantizeLinear(%m, %t, %i) @narrow
  %y = msc.Conv(%q, %w, _, _, %o) @point {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, x_scale = 0.03125, x_zero_point = -9, y_scale = 0.5, y_zero_point = 99, y_type = 2}
  output %y
})",
     {"reorder x", "wide+scaled+narrow+point", "reorder y"}},
    {"narrow_floats",
     R"(graph g {
  input %x : f32[1,7,3,5]
  const %w : bf16[6,7,1,1] = splat 0.5
  %a = Sigmoid(%x) @gate
  %b = Cast(%a) @narrow {to = 16}
  %y = msc.Conv(%b, %w) @point {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  output %y
})",
     {"reorder x", "gate+narrow+point", "reorder y"}},
    {"pools_that_see_each_entry_once",
     R"(graph g {
  input %x : f32[1,18,5,7]
  const %g : f32[18,1,1] = random 3
  %a = Relu(%x) @relu
  %y = GlobalAveragePool(%a) @mean
  %b = Mul(%x, %g) @scaled
  %z = MaxPool(%b) @most {kernel_shape = [2, 3], strides = [2, 3], pads = [1, 0, 0, 2]}
  output %y
  output %z
})",
     {"reorder x", "relu+mean", "scaled+most", "reorder z"}},
    {"rows_of_a_softmax",
     R"(graph g {
  input %x : f32[2,3,11]
  input %m : f32[2,3,1]
  %a = Mul(%x, %m) @scaled
  %b = Tanh(%a) @bent
  %s = Softmax(%b) @soft
  %y = Neg(%s) @turned
  output %y
})",
     {"scaled+bent+soft+turned"}},
    {"rows_that_are_no_list",
     R"(graph g {
  input %x : f32[2,3,11]
  input %m : f32[3,11]
  %a = Mul(%x, %m) @scaled
  %s = Softmax(%a) @soft
  %y = Neg(%s) @turned
  output %y
})",
     {"scaled", "soft+turned"}},
    {"rows_of_a_softmax_in_codes",
     R"(graph g {
  input %x : u8[5,19]
  const %s : f32[] = [0.03125]
  const %z : u8[] = [7]
  const %t : f32[] = [0.004]
  %d = DequantizeLinear(%x, %s, %z) @wide
  %p = Softmax(%d) @soft
  %y = QuantizeLinear(%p, %t, %z) @codes
  output %y
})",
     {"wide+soft+codes"}},
    {"rows_of_a_layer_norm",
     R"(graph g {
  input %x : f32[2,3,21]
  input %r : f32[2,3,21]
  const %g : f32[21] = random 3
  const %b : f32[21] = random 4
  %a = Mul(%x, %r) @gated
  %n = LayerNormalization(%a, %g, %b) @norm {axis = -1}
  %y = Add(%n, %r) @added
  output %y
})",
     {"gated+norm+added"}},
    {"rows_of_a_narrow_layer_norm",
     R"(graph g {
  input %x : f32[4,37]
  const %g : bf16[37] = splat 1.5
  %a = Neg(%x) @turned
  %b = Cast(%a) @narrow {to = 16}
  %n = LayerNormalization(%b, %g) @norm {axis = -1}
  output %n
})",
     {"turned+narrow+norm"}},
    {"rows_of_a_product",
     R"(graph g {
  input %x : f32[4,14,19]
  input %z : f32[4,14,1]
  const %s : f32[19] = random 3
  const %w : f32[7,19] = random 4
  %a = Mul(%x, %s) @scaled
  %g = Mul(%a, %z) @gated
  %p = msc.Gemm(%g, %w) @dense {y_type = 1}
  %y = Tanh(%p) @closed
  output %y
})",
     {"scaled+gated+dense+closed"}},
    {"rows_of_a_product_in_codes",
     R"(graph g {
  input %x : f32[56,19]
  const %s : f32[] = [0.03125]
  const %z : u8[] = [131]
  const %w : i8[7,19] = random 4
  const %o : f32[1] = [0.0078125]
  %a = Tanh(%x) @bent
  %q = QuantizeLinear(%a, %s, %z) @codes
  %y = msc.Gemm(%q, %w, _, _, %o) @dense {x_scale = 0.03125, x_zero_point = 131, y_scale = 0.0625, y_zero_point = 3, y_type = 3}
  output %y
})",
     {"bent+codes+dense"}},
    {"products_of_few_rows",
     R"(graph g {
  input %x : f32[5,19]
  const %w : f32[7,19] = random 4
  %a = Tanh(%x) @bent
  %y = msc.Gemm(%a, %w) @dense {y_type = 1}
  output %y
})",
     {"bent", "dense"}},
    {"windows_that_see_entries_again",
     R"(graph g {
  input %x : f32[1,6,5,7]
  const %w : f32[3,6,3,3] = random 3
  const %d : f32[6,1,1,1] = random 4
  %a = Relu(%x) @relu
  %y = MaxPool(%a) @most {kernel_shape = [3, 3], strides = [2, 2]}
  %b = Neg(%x) @turned
  %z = msc.Conv(%b, %w) @window {kernel_shape = [3, 3], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  output %y
  output %z
})",
     {"relu", "reorder a", "most", "reorder y", "turned", "reorder b", "window", "reorder z"}},
    {"values_that_others_read",
     R"(graph g {
  input %x : f32[1,6,5,7]
  const %w : f32[3,6,1,1] = random 3
  %a = Relu(%x) @relu
  %y = msc.Conv(%a, %w) @point {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  output %y
  output %a
})",
     {"relu", "reorder a", "point", "reorder y"}},
    {"weights_beyond_the_cache",
     R"(graph g {
  input %x : f32[1,512,1,2]
  const %w : f32[260,512,1,1] = random 3
  %a = Relu(%x) @relu
  %y = msc.Conv(%a, %w) @point {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  output %y
})",
     {"relu", "reorder a", "point", "reorder y"}},
    {"the_residual_of_the_reader",
     R"(graph g {
  input %x : f32[1,6,5,7]
  input %r : f32[1,3,5,7]
  const %w : f32[3,6,1,1] = random 3
  %a = Neg(%r) @turned
  %y = msc.Conv(%x, %w, _, %a) @point {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  output %y
})",
     {"turned", "reorder x", "reorder a", "point", "reorder y"}},
};

INSTANTIATE_TEST_SUITE_P(Prologues, NativeFusion, testing::ValuesIn(kPrologues),
                         [](const auto& test) { return std::string(test.param.label); });

const Fused kNarrow[] = {
    {"softmax",
     R"(graph g {
  input %x : bf16[3,19]
  %y = Softmax(%x) @soft
  output %y
})",
     {"soft"}},
    {"softmax_to_f32",
     R"(graph g {
  input %x : bf16[3,19]
  %s = Softmax(%x) @soft
  %y = Cast(%s) @wide {to = 1}
  output %y
})",
     {"soft+wide"}},
    {"layer_norm",
     R"(graph g {
  input %x : bf16[2,3,18]
  const %g : bf16[18] = splat 1.5
  input %b : bf16[18]
  %y = LayerNormalization(%x, %g, %b) @norm
  output %y
})",
     {"norm"}},
    {"attention",
     R"(graph g {
  input %q : bf16[2,5,6]
  input %k : bf16[2,7,6]
  input %v : bf16[2,7,9]
  input %m : bf16[5,7]
  %a = msc.Attention(%q, %k, %v, %m) @heads {scale = 0.5}
  %b = Cast(%a) @wide {to = 1}
  %y = Relu(%b) @closed
  output %y
})",
     {"heads+wide+closed"}},
    {"attention_over_transposed_keys",
     R"(graph g {
  input %q : bf16[1,5,2,6]
  input %k : bf16[1,2,6,7]
  input %v : bf16[1,7,2,9]
  %y = msc.Attention(%q, %k, %v) @heads {scale = 0.5, q_perm = [0, 2, 1, 3], k_perm = [0, 1, 3, 2], v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}
  output %y
})",
     {"reorder k", "heads"}},
};

INSTANTIATE_TEST_SUITE_P(Narrow, NativeFusion, testing::ValuesIn(kNarrow),
                         [](const auto& test) { return std::string(test.param.label); });

TEST(NativeClip, LimitsInfinityToTheLargestFloatAndPassesNaN) {
  Graph graph = ParseGraph(R"(graph g {
  input %x : f32[4]
  const %low : f32[] = [-3.4028234663852886e38]
  const %high : f32[] = [3.4028234663852886e38]
  %y = Clip(%x, %low, %high)
  output %y
})");
  InferTypes(graph);
  const std::vector<Tensor> inputs = {Tensor::From<float>(
      DType::kF32, {4}, std::vector<float>{INFINITY, -INFINITY, std::nanf(""), -2.5F})};
  const Tensor y = Interpreted(ProgramOf(graph), graph, inputs).at(0);
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_EQ(y.Values<float>()[0], kMost);
  EXPECT_EQ(y.Values<float>()[1], -kMost);
  EXPECT_TRUE(std::isnan(y.Values<float>()[2]));
  EXPECT_EQ(y.Values<float>()[3], -2.5F);
}

/// The extreme of a number and NaN is NaN, whichever comes first.
TEST(NativeNaN, PassesBoundsAndExtremes) {
  Graph graph = ParseGraph(R"(graph g {
  input %x : f32[3]
  input %z : f32[3]
  const %half : f32[] = [0.5]
  %relu = Relu(%x)
  %low = Clip(%x, %half)
  %high = Clip(%x, _, %half)
  %max = Max(%x, %z)
  %min = Min(%x, %z)
  %hard = HardSigmoid(%x)
  output %relu
  output %low
  output %high
  output %max
  output %min
  output %hard
})");
  InferTypes(graph);
  const float nan = std::nanf("");
  const std::vector<Tensor> inputs = {
      Tensor::From<float>(DType::kF32, {3}, std::vector<float>{nan, 1, 2}),
      Tensor::From<float>(DType::kF32, {3}, std::vector<float>{1, nan, 3})};
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  const std::vector<Tensor> got = Interpreted(ProgramOf(graph), graph, inputs);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (std::size_t at = 0; at < 3; ++at) {
      const float number = wanted[i].Values<float>()[at];
      EXPECT_EQ(std::isnan(number), at == 0 || (at == 1 && (i == 3 || i == 4))) << i << " " << at;
      EXPECT_EQ(std::isnan(got[i].Values<float>()[at]), std::isnan(number)) << i << " " << at;
      if (std::isnan(number)) continue;
      EXPECT_FLOAT_EQ(got[i].Values<float>()[at], number) << i << " " << at;
    }
  }
}

}  // namespace
}  // namespace msc::native
