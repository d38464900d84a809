// Quantized operators in native code: exact where scales are powers of two, as then every step of
// the arithmetic is; and operators on bf16, on numbers of few bits. For each instruction set, as
// their products differ.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/native/native.h"
#include "compiler/targets/target.h"

namespace msc {
namespace {

Tensor RandomTensor(const ValueType& type, std::uint64_t seed) {
  Rng rng(seed);
  Tensor tensor(type.dtype, *StaticDims(*type.shape));
  if (type.dtype == DType::kF32) {
    // Multiples of 1/8, so that sums are exact.
    for (float& x : tensor.MutableValues<float>()) {
      x = static_cast<float>(static_cast<int>(rng.Below(257)) - 128) / 8;
    }
  } else if (type.dtype == DType::kBF16) {
    for (std::uint16_t& x : tensor.MutableValues<std::uint16_t>()) {
      x = ToBF16(static_cast<float>(static_cast<int>(rng.Below(65)) - 32) / 4);
    }
  } else if (type.dtype == DType::kU8) {
    for (std::uint8_t& x : tensor.MutableValues<std::uint8_t>()) {
      x = static_cast<std::uint8_t>(rng.Below(256));
    }
  } else {
    for (std::int8_t& x : tensor.MutableValues<std::int8_t>()) {
      x = static_cast<std::int8_t>(static_cast<int>(rng.Below(256)) - 128);
    }
  }
  return tensor;
}

struct Built {
  Graph graph;
  Executable executable;
};

/// Everything in one native region.
Built Build(const Target& target, const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  ExecutableBuilder builder(graph);
  for (const NodeId id : graph.order()) {
    EXPECT_TRUE(target.Supports(graph, id)) << graph.node(id).op;
  }
  const auto failure =
      target.GraphToRuntime({.graph = &graph, .nodes = graph.order()}, {.threads = 1}, builder);
  EXPECT_FALSE(failure.has_value()) << failure->detail;
  Executable executable = std::move(builder).Build();
  return {std::move(graph), std::move(executable)};
}

TargetRegistry Targets() {
  TargetRegistry registry;
  registry.Add(NativeKind());
  return registry;
}

/// The sign of a 0 is open.
std::vector<Tensor> WithPlainZeros(std::vector<Tensor> tensors) {
  constexpr std::uint16_t kMinusZero = 0x8000;
  for (Tensor& tensor : tensors) {
    if (tensor.dtype() == DType::kBF16) {
      const auto values = tensor.MutableValues<std::uint16_t>();
      std::replace(values.begin(), values.end(), kMinusZero, std::uint16_t{0});
    } else if (tensor.dtype() == DType::kF32) {
      for (float& value : tensor.MutableValues<float>()) value += 0.0F;
    }
  }
  return tensors;
}

void ExpectExact(const Target& target, const std::string& text) {
  SCOPED_TRACE(text);
  Built built = Build(target, text);
  std::vector<Tensor> inputs;
  for (const ValueId input : built.graph.inputs()) {
    inputs.push_back(RandomTensor(built.graph.type(input), inputs.size() + 1));
  }
  const std::vector<Tensor> actual = WithPlainZeros(built.executable.Run(inputs));
  const std::vector<Tensor> expected = WithPlainZeros(Interpret(built.graph, inputs));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(actual.at(i) == expected[i]) << "output " << i;
  }
}

/// "0.5, 0.25, ..." of m powers of two.
std::string Powers(int m) {
  std::string list;
  for (int i = 0; i < m; ++i) {
    list += (i > 0 ? ", " : "") + std::to_string(std::ldexp(1.0, -7 - i % 5));
  }
  return list;
}

/// A value that others read: a halo around it, filled with its zero point, and bytes that do not
/// come in fours; then a grouped, a depthwise and a strided convolution, on which ties abound.
constexpr const char* kConvolutions = R"(graph g {
  input %x : u8[2,6,7,9]
  input %r : i8[2,5,7,9]
  const %w : i8[5,6,3,3] = random 3
  const %b : f32[5] = [1, -2.5, 0.75, 8, -16]
  const %s : f32[5] = [P5]
  const %v : i8[10,1,3,3] = random 5
  const %t : f32[10] = [P10]
  const %d : i8[10,1,3,3] = random 6
  const %l : f32[1] = [0.25]
  const %o : f32[1] = [0.0078125]
  const %u : i8[37,10,1,1] = random 7
  %a = msc.Conv(%x, %w, %b, %r, %s) {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, x_scale = 0.25, x_zero_point = 13, r_scale = 0.5, r_zero_point = -7, activation = "Relu", y_scale = 2.0, y_zero_point = -101, y_type = 3}
  %c = msc.Conv(%a, %v, _, _, %t) {kernel_shape = [3, 3], strides = [1, 1], pads = [0, 2, 1, 0], dilations = [1, 1], group = 5, x_scale = 2.0, x_zero_point = -101, y_scale = 4.0, y_zero_point = 3, y_type = 3}
  %e = msc.Conv(%c, %d, _, _, %t, %l) {kernel_shape = [3, 3], strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 2], group = 10, x_scale = 4.0, x_zero_point = 3, activation = "PRelu", y_scale = 8.0, y_zero_point = 117, y_type = 2}
  %f = msc.Conv(%e, %u, _, _, %o) {kernel_shape = [1, 1], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, x_scale = 8.0, x_zero_point = 117, activation = "Clip", alpha = -512.0, beta = 512.0, y_scale = 4.0, y_zero_point = 128, y_type = 2}
  output %a
  output %f
})";

constexpr const char* kDense = R"(graph g {
  input %x : i8[5,19]
  input %z : u8[3,8]
  const %w : i8[37,19] = random 3
  const %s : f32[37] = [P37]
  const %k : i8[16,8] = random 4
  const %o : f32[1] = [0.0078125]
  %y = msc.Gemm(%x, %w, _, _, %s) {x_scale = 0.5, x_zero_point = -3, y_scale = 1.0, y_zero_point = 5, y_type = 3}
  %a = msc.Gemm(%z, %k, _, _, %o) {x_scale = 0.5, x_zero_point = 255, y_type = 1}
  output %y
  output %a
})";

/// What stands between convolutions of a quantized model.
constexpr const char* kAround = R"(graph g {
  input %x : f32[1,6,8,8]
  input %i : u8[1,6,8,8]
  const %s : f32[] = [0.25]
  const %z : u8[] = [31]
  const %t : f32[] = [0.5]
  const %n : i8[] = [-4]
  %q = QuantizeLinear(%x, %s, %z)
  %m = MaxPool(%q) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %c = Concat(%m, %i) {axis = 1}
  %g = msc.Pool(%c) {op = "GlobalAveragePool", x_scale = 0.25, x_zero_point = 31, y_scale = 0.125, y_zero_point = 2, y_type = 3}
  %a = msc.Binary(%c, %g) {op = "Mul", x_scale = 0.25, x_zero_point = 31, r_scale = 0.125, r_zero_point = 2, y_scale = 4.0, y_zero_point = -9, y_type = 3}
  %b = msc.Binary(%c, %a) {op = "Add", x_scale = 0.25, x_zero_point = 31, r_scale = 4.0, r_zero_point = -9, activation = "Relu", y_scale = 2.0, y_zero_point = 7, y_type = 2}
  %p = msc.Pool(%b) {op = "AveragePool", kernel_shape = [2, 2], strides = [2, 2], x_scale = 2.0, x_zero_point = 7, y_scale = 1.0, y_zero_point = 7, y_type = 2}
  %d = DequantizeLinear(%p, %t, %z)
  %h = Transpose(%b) {perm = [0, 2, 3, 1]}
  %f = Flatten(%h)
  %e = DequantizeLinear(%a, %t, %n)
  %j = QuantizeLinear(%e, %s, %n)
  output %d
  output %f
  output %j
})";

/// Odd depths, so that the last step of a sum has one entry; a grouped, a depthwise and a pointwise
/// convolution, and what else a model in bf16 has.
constexpr const char* kBF16 = R"(graph g {
  input %x : bf16[2,5,6,7]
  input %r : bf16[2,6,6,7]
  input %z : bf16[3,11]
  const %w : bf16[6,5,3,3] = [Q270]
  const %b : f32[6] = [1, -2.5, 0.75, 8, -16, 0]
  const %d : bf16[6,1,3,3] = [Q54]
  const %u : bf16[37,3,1,1] = [Q111]
  const %k : bf16[19,11] = [Q209]
  const %l : f32[19] = [Q19]
  const %i0 : i64[1] = [0]
  const %i1 : i64[1] = [1]
  const %i3 : i64[1] = [3]
  %a = msc.Conv(%x, %w, %b, %r) {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, activation = "Relu", y_type = 16}
  %c = msc.Conv(%a, %d) {kernel_shape = [3, 3], strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 6, y_type = 16}
  %m = msc.Binary(%a, %r) {op = "Mul", y_type = 16}
  %p = msc.Pool(%m) {op = "MaxPool", kernel_shape = [2, 2], strides = [2, 2], y_type = 16}
  %h = Slice(%r, %i0, %i3, %i1)
  %v = msc.Conv(%x, %w, %b) {kernel_shape = [3, 3], strides = [3, 3], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  %e = Cast(%p) {to = 1}
  %q = Cast(%v) {to = 16}
  %y = msc.Gemm(%z, %k, %l) {activation = "LeakyRelu", alpha = 0.5, y_type = 1}
  %t = Transpose(%c) {perm = [0, 2, 3, 1]}
  %n = Concat(%a, %m) {axis = 1}
  %f = msc.Conv(%h, %u) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 16}
  output %t
  output %n
  output %e
  output %q
  output %y
  output %f
})";

/// "-2, -0.25, ..." of n quarters.
std::string Quarters(int n) {
  std::string list;
  for (int i = 0; i < n; ++i) {
    list += (i > 0 ? ", " : "") + std::to_string((i * 7 % 17 - 8) / 4.0);
  }
  return list;
}

std::string WithScales(std::string text) {
  for (const int m : {37, 10, 5}) {
    const std::string key = "P" + std::to_string(m);
    const std::size_t at = text.find("[" + key + "]");
    if (at != std::string::npos) text.replace(at + 1, key.size(), Powers(m));
  }
  for (const int n : {270, 209, 111, 54, 19}) {
    const std::string key = "[Q" + std::to_string(n) + "]";
    const std::size_t at = text.find(key);
    if (at != std::string::npos) text.replace(at + 1, key.size() - 2, Quarters(n));
  }
  return text;
}

/// The same with weights of 7 bits: numbers from -64 to 64 instead of random ones.
std::string WithSevenBits(const std::string& text) {
  const std::regex random(R"(i8\[([0-9,]+)\] = random ([0-9]))");
  std::string result;
  std::string::const_iterator rest = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), random), end; it != end; ++it) {
    std::int64_t count = 1;
    const std::string dims = (*it)[1];
    for (std::size_t at = 0; at < dims.size(); at = dims.find(',', at) + 1) {
      count *= std::stoll(dims.substr(at));
      if (dims.find(',', at) == std::string::npos) break;
    }
    Rng rng(std::stoull((*it)[2]));
    result.append(rest, (*it)[0].first);
    result += "i8[" + dims + "] = [";
    for (std::int64_t i = 0; i < count; ++i) {
      result += (i > 0 ? ", " : "") + std::to_string(static_cast<int>(rng.Below(129)) - 64);
    }
    result += "]";
    rest = (*it)[0].second;
  }
  return result.append(rest, text.end());
}

class NativeNarrow : public testing::TestWithParam<const char*> {
 protected:
  const Target* Get() {
    try {
      return &targets_.Get("native:isa=" + std::string(GetParam()));
    } catch (const UserError&) {
      return nullptr;  // this CPU has no such instructions
    }
  }

 private:
  TargetRegistry targets_ = Targets();
};

TEST_P(NativeNarrow, IsExactWherePowersOfTwoScale) {
  const Target* const target = Get();
  if (target == nullptr) GTEST_SKIP() << "this processor has no " << GetParam();
  for (const char* text : {kConvolutions, kDense, kAround}) ExpectExact(*target, WithScales(text));
}

TEST_P(NativeNarrow, IsExactWithWeightsOfSevenBits) {
  const Target* const target = Get();
  if (target == nullptr) GTEST_SKIP() << "this processor has no " << GetParam();
  for (const char* text : {kConvolutions, kDense}) {
    ExpectExact(*target, WithSevenBits(WithScales(text)));
  }
}

// Their kernels are others where three instructions do what takes eight.
TEST_P(NativeNarrow, SaysWithHowManyBitsItIsFastest) {
  const Target* const target = Get();
  if (target == nullptr) GTEST_SKIP() << "this processor has no " << GetParam();
  const std::string isa = GetParam();
  const bool narrow = isa == "avx2" || isa == "avx512";
  EXPECT_EQ(target->facts().weight_bits, narrow ? 7 : 8);
  for (const bool seven : {false, true}) {
    const std::string text = WithScales(kDense);
    Graph graph = ParseGraph(seven ? WithSevenBits(text) : text);
    InferTypes(graph);
    const std::string kernel = target->Schedules(graph, graph.order().front()).kernel;
    EXPECT_EQ(kernel.ends_with("narrow"), narrow && seven) << kernel;
  }
}

TEST_P(NativeNarrow, IsExactInBF16WhereNumbersHaveFewBits) {
  const Target* const target = Get();
  if (target == nullptr) GTEST_SKIP() << "this processor has no " << GetParam();
  ExpectExact(*target, WithScales(kBF16));
}

// Products of 255 and 127 in every place: pairs of them do not fit 16 bits. Those of 64 do.
TEST_P(NativeNarrow, SumsDoNotSaturate) {
  const Target* const target = Get();
  if (target == nullptr) GTEST_SKIP() << "this processor has no " << GetParam();
  Built built = Build(*target, R"(graph g {
  input %x : u8[2,512]
  const %w : i8[3,512] = splat 127
  const %v : i8[3,512] = splat -128
  const %p : i8[3,512] = splat 64
  const %q : i8[3,512] = splat -64
  const %r : i8[3,512] = splat 65
  const %s : f32[1] = [1.0]
  %y = msc.Gemm(%x, %w, _, _, %s) {y_type = 1}
  %z = msc.Gemm(%x, %v, _, _, %s) {x_zero_point = 1, y_type = 1}
  %a = msc.Gemm(%x, %p, _, _, %s) {y_type = 1}
  %b = msc.Gemm(%x, %q, _, _, %s) {y_type = 1}
  %c = msc.Gemm(%x, %r, _, _, %s) {y_type = 1}
  output %y
  output %z
  output %a
  output %b
  output %c
})");
  Tensor x(DType::kU8, {2, 512});
  for (std::uint8_t& value : x.MutableValues<std::uint8_t>()) value = 255;
  const std::vector<Tensor> outputs = built.executable.Run(std::vector<Tensor>{std::move(x)});
  for (const float y : outputs[0].Values<float>()) EXPECT_EQ(y, 512 * 255 * 127);
  for (const float z : outputs[1].Values<float>()) EXPECT_EQ(z, -512 * 254 * 128);
  for (const float a : outputs[2].Values<float>()) EXPECT_EQ(a, 512 * 255 * 64);
  for (const float b : outputs[3].Values<float>()) EXPECT_EQ(b, -512 * 255 * 64);
  for (const float c : outputs[4].Values<float>()) EXPECT_EQ(c, 512 * 255 * 65);
}

INSTANTIATE_TEST_SUITE_P(Isa, NativeNarrow,
                         testing::Values("baseline", "avx2", "avx512", "avx512_vnni",
                                         "avx512_vnni_bf16"),
                         [](const auto& param) { return std::string(param.param); });

// With other scales a product may fall on the other side of a tie: rarely, and by one step.
TEST(NativeInt8Scales, RoundAtMostOneStepBeside) {
  const TargetRegistry targets = Targets();
  const std::string text = R"(graph g {
  input %x : u8[1,16,24,24]
  const %w : i8[24,16,3,3] = random 3
  const %b : f32[24] = random 4
  const %s : f32[1] = [0.00371]
  %y = msc.Conv(%x, %w, %b, _, %s) {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, x_scale = 0.0173, x_zero_point = 119, y_scale = 0.0711, y_zero_point = 131, y_type = 2}
  output %y
})";
  Built built = Build(targets.Get("native"), text);
  const std::vector<Tensor> inputs = {RandomTensor(built.graph.type(built.graph.inputs()[0]), 1)};
  const std::vector<Tensor> actual = built.executable.Run(inputs);
  const std::vector<Tensor> expected = Interpret(built.graph, inputs);
  int beside = 0;
  const auto want = expected[0].Values<std::uint8_t>();
  const auto got = actual[0].Values<std::uint8_t>();
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_LE(std::abs(want[i] - got[i]), 1);
    beside += want[i] != got[i] ? 1 : 0;
  }
  EXPECT_LE(beside, 2) << "of " << want.size();
}

TEST(NativeInt8Supports, RefusesWhatItDoesNotComputeRight) {
  const TargetRegistry targets = Targets();
  const auto supported = [&](const std::string& text) {
    Graph graph = ParseGraph(text);
    InferTypes(graph);
    return targets.Get("native").Supports(graph, graph.order()[0]);
  };
  const auto gemm = [&](const std::string& depth, const std::string& attrs) {
    return "graph g {\n  input %x : u8[1," + depth + "]\n  const %w : i8[1," + depth +
           "] = splat 1\n  const %s : f32[1] = [1.0]\n  %y = msc.Gemm(%x, %w, _, _, %s) {" + attrs +
           "y_type = 2}\n  output %y\n}";
  };
  EXPECT_TRUE(supported(gemm("65536", "")));
  EXPECT_FALSE(supported(gemm("65537", "")));  // sums may not fit 32 bits
  EXPECT_FALSE(supported(gemm("4", "x_zero_point = -1, ")));
  EXPECT_FALSE(supported(R"(graph g {
  input %x : i8[1,4]
  const %s : f32[4] = [1, 2, 3, 4]
  %y = DequantizeLinear(%x, %s)
  output %y
})"));
}

}  // namespace
}  // namespace msc
