// Kernels against loops that follow the definitions, on random shapes and integer-valued inputs:
// sums are then exact in every type, so results must be equal bit for bit.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/fused.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr int kRounds = 60;

std::int64_t Draw(Rng& rng, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(most - least + 1)));
}

Tensor Random(Rng& rng, DType dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  Node node;
  WithNumber(node, dtype, [&]<class T>() {
    const std::int64_t least = std::is_same_v<T, std::int8_t> ? -128 : dtype == DType::kU8 ? 0 : -8;
    const std::int64_t most = std::is_same_v<T, std::int8_t> ? 127 : dtype == DType::kU8 ? 255 : 8;
    for (T& value : tensor.MutableValues<T>()) value = static_cast<T>(Draw(rng, least, most));
  });
  return tensor;
}

struct Call {
  std::string op;
  std::string domain = "";
  AttrMap attrs = {};
};

Tensor Eval(const Call& call, const std::vector<const Tensor*>& inputs) {
  Node node;
  node.name = "node";
  node.op = call.op;
  node.domain = call.domain;
  node.attrs = call.attrs;
  node.outputs.resize(1);
  for (const Tensor* input : inputs) node.inputs.push_back(input ? ValueId{0} : kNoValue);
  return Ops().Get(node).eval(node, inputs).front();
}

/// A random 2-D convolution: everything that its definition speaks of.
struct ConvSetup {
  std::int64_t batch, group, in_channels, out_channels;  // channels of one group
  Dims in, kernel, strides, dilations, pads, out;

  [[nodiscard]] AttrMap Attrs() const {
    return {{"kernel_shape", kernel},
            {"strides", strides},
            {"dilations", dilations},
            {"pads", pads},
            {"group", group}};
  }
};

ConvSetup DrawConv(Rng& rng) {
  ConvSetup s{.batch = Draw(rng, 1, 2),
              .group = Draw(rng, 1, 3),
              .in_channels = Draw(rng, 1, 4),
              .out_channels = Draw(rng, 1, 3),
              .in = {},
              .kernel = {},
              .strides = {},
              .dilations = {},
              .pads = Dims(4),
              .out = {}};
  for (std::size_t i = 0; i < 2; ++i) {
    s.kernel.push_back(Draw(rng, 1, 4));
    s.strides.push_back(Draw(rng, 1, 3));
    s.dilations.push_back(Draw(rng, 1, 2));
    s.pads[i] = Draw(rng, 0, 3);
    s.pads[i + 2] = Draw(rng, 0, 3);
    const std::int64_t extent = (s.kernel[i] - 1) * s.dilations[i] + 1;
    s.in.push_back(Draw(rng, std::max<std::int64_t>(1, extent - s.pads[i] - s.pads[i + 2]), 9));
    s.out.push_back((s.in[i] + s.pads[i] + s.pads[i + 2] - extent) / s.strides[i] + 1);
  }
  return s;
}

/// The sums of the definition, with `x_zero` subtracted from every element inside X.
std::vector<std::int64_t> DirectConv(const ConvSetup& s, const Tensor& x, const Tensor& w,
                                     std::int64_t x_zero) {
  std::vector<std::int64_t> sums;
  const std::int64_t channels = s.group * s.in_channels;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t m = 0; m < s.group * s.out_channels; ++m) {
      for (std::int64_t p = 0; p < s.out[0] * s.out[1]; ++p) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < s.in_channels * s.kernel[0] * s.kernel[1]; ++k) {
          const std::int64_t c = k / (s.kernel[0] * s.kernel[1]);
          const std::int64_t i = p / s.out[1] * s.strides[0] - s.pads[0] +
                                 k / s.kernel[1] % s.kernel[0] * s.dilations[0];
          const std::int64_t j =
              p % s.out[1] * s.strides[1] - s.pads[1] + k % s.kernel[1] * s.dilations[1];
          if (i < 0 || i >= s.in[0] || j < 0 || j >= s.in[1]) continue;
          const std::int64_t channel = m / s.out_channels * s.in_channels + c;
          const std::int64_t at = ((n * channels + channel) * s.in[0] + i) * s.in[1] + j;
          const std::int64_t taps = s.in_channels * s.kernel[0] * s.kernel[1];
          sum += (static_cast<std::int64_t>(NumberAt(x, at)) - x_zero) *
                 static_cast<std::int64_t>(NumberAt(w, m * taps + k));
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

Dims InputDims(const ConvSetup& s) {
  return {s.batch, s.group * s.in_channels, s.in[0], s.in[1]};
}
Dims WeightDims(const ConvSetup& s) {
  return {s.group * s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]};
}
Dims OutputDims(const ConvSetup& s) {
  return {s.batch, s.group * s.out_channels, s.out[0], s.out[1]};
}

class ConvOfType : public testing::TestWithParam<DType> {};

TEST_P(ConvOfType, AddsTheProductsOfItsDefinition) {
  Rng rng(11);
  for (int round = 0; round < kRounds; ++round) {
    const ConvSetup s = DrawConv(rng);
    const Tensor x = Random(rng, GetParam(), InputDims(s));
    const Tensor w = Random(rng, GetParam(), WeightDims(s));
    const Tensor bias = Random(rng, GetParam(), {s.group * s.out_channels});
    const Tensor y = Eval({.op = "Conv", .attrs = s.Attrs()}, {&x, &w, &bias});
    const std::vector<std::int64_t> sums = DirectConv(s, x, w, 0);
    ASSERT_EQ(y.dims(), OutputDims(s));
    const std::int64_t plane = s.out[0] * s.out[1];
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const double b = NumberAt(bias, i / plane % bias.size());
      ASSERT_EQ(NumberAt(y, i), static_cast<double>(sums[static_cast<std::size_t>(i)]) + b)
          << "round " << round << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, ConvOfType, testing::Values(DType::kF32, DType::kF64),
                         [](const auto& param) { return std::string(Name(param.param)); });

/// What the definition in fused.h makes of a real number.
double Quantized(double y, const QuantParams& params, DType dtype) {
  const double least = dtype == DType::kI8 ? -128 : 0;
  const double scaled = y / static_cast<double>(params.scale);
  const double below = std::floor(scaled);
  const double rest = scaled - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2.0) != 0.0);
  const double whole = below + (up ? 1.0 : 0.0) + static_cast<double>(params.zero_point);
  return std::min(std::max(whole, least), least + 255);
}

TEST(FusedConv, RoundsExactIntegerSumsOnce) {
  Rng rng(12);
  int saturated = 0;
  for (int round = 0; round < kRounds; ++round) {
    const ConvSetup s = DrawConv(rng);
    const DType x_type = round % 2 == 0 ? DType::kU8 : DType::kI8;
    const DType y_type = round % 3 == 0 ? DType::kU8 : DType::kI8;
    FusedAttrs attrs;
    attrs.x = {.scale = 0.125F, .zero_point = x_type == DType::kU8 ? 3 : -5};
    attrs.r = {.scale = 0.25F, .zero_point = 7};
    // Small divisors of two: quotients on ties and beyond the range do occur.
    attrs.y = {.scale = round % 5 == 0 ? 8.0F : 64.0F, .zero_point = 9};
    if (round % 2 == 1) attrs.activation.op = "Relu";
    attrs.y_type = y_type;
    AttrMap map = s.Attrs();
    WriteFusedAttrs(attrs, map);
    const Tensor x = Random(rng, x_type, InputDims(s));
    const Tensor w = Random(rng, DType::kI8, WeightDims(s));
    const Tensor r = Random(rng, DType::kU8, OutputDims(s));
    const Tensor bias = Random(rng, DType::kF32, {s.group * s.out_channels});
    Tensor scale(DType::kF32, bias.dims());
    for (float& value : scale.MutableValues<float>()) {
      value = std::ldexp(1.0F, -static_cast<int>(Draw(rng, 0, 3)));
    }
    const Tensor y =
        Eval({.op = "Conv", .domain = "msc", .attrs = map}, {&x, &w, &bias, &r, &scale});
    const std::vector<std::int64_t> sums = DirectConv(s, x, w, attrs.x.zero_point);
    ASSERT_EQ(y.dtype(), y_type);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t m = i / (s.out[0] * s.out[1]) % bias.size();
      double real =
          static_cast<double>(sums[static_cast<std::size_t>(i)]) * 0.125 * NumberAt(scale, m) +
          NumberAt(bias, m) + (NumberAt(r, i) - 7) * 0.25;
      if (attrs.activation.op == "Relu") real = std::max(real, 0.0);
      const double want = Quantized(real, attrs.y, y_type);
      ASSERT_EQ(NumberAt(y, i), want) << "round " << round << " element " << i;
      if (want == 255.0 || want == 127.0 || want == -128.0) ++saturated;
    }
  }
  EXPECT_GT(saturated, 0);
}

TEST(FusedGemm, MultipliesByTheTransposedWeights) {
  Rng rng(13);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t n = Draw(rng, 1, 4);
    const std::int64_t k = Draw(rng, 1, 40);
    const std::int64_t m = Draw(rng, 1, 5);
    const Tensor x = Random(rng, DType::kU8, {n, k});
    const Tensor w = Random(rng, DType::kI8, {m, k});
    const Tensor scale = Tensor::From<float>(DType::kF32, {1}, std::vector<float>{0.5F});
    FusedAttrs attrs;
    attrs.x = {.scale = 1.0F, .zero_point = 128};
    AttrMap map;
    WriteFusedAttrs(attrs, map);
    const Tensor y =
        Eval({.op = "Gemm", .domain = "msc", .attrs = map}, {&x, &w, nullptr, nullptr, &scale});
    for (std::int64_t i = 0; i < n * m; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        sum += (NumberAt(x, i / m * k + j) - 128) * NumberAt(w, i % m * k + j);
      }
      ASSERT_EQ(NumberAt(y, i), 0.5 * sum);
    }
  }
}

TEST(FusedBinary, TakesOperandsOfDifferentScales) {
  const Tensor a =
      Tensor::From<std::uint8_t>(DType::kU8, {3}, std::vector<std::uint8_t>{0, 10, 255});
  const Tensor b = Tensor::From<std::int8_t>(DType::kI8, {1}, std::vector<std::int8_t>{-3});
  FusedAttrs attrs;
  attrs.x = {.scale = 0.5F, .zero_point = 10};
  attrs.r = {.scale = 1.0F, .zero_point = -4};
  attrs.y = {.scale = 2.0F, .zero_point = 0};
  attrs.y_type = DType::kI8;
  AttrMap map{{"op", std::string("Add")}};
  WriteFusedAttrs(attrs, map);
  const Tensor y = Eval({.op = "Binary", .domain = "msc", .attrs = map}, {&a, &b});
  // (-5 + 1) / 2, (0 + 1) / 2 to even, (122.5 + 1) / 2 = 61.75
  EXPECT_EQ(y, Tensor::From<std::int8_t>(DType::kI8, {3}, std::vector<std::int8_t>{-2, 0, 62}));
}

TEST(FusedOps, RoundToBf16OnceFromTheExactResult) {
  // 1 + 2^-8 is a tie between two bf16 numbers; 2^-40 more decides it, yet vanishes in f32.
  const Tensor a = Tensor::From<float>(DType::kF32, {1}, std::vector<float>{1.0F + 0x1p-8F});
  const Tensor b = Tensor::From<float>(DType::kF32, {1}, std::vector<float>{0x1p-40F});
  FusedAttrs attrs;
  attrs.y_type = DType::kBF16;
  AttrMap map{{"op", std::string("Add")}};
  WriteFusedAttrs(attrs, map);
  const Tensor y = Eval({.op = "Binary", .domain = "msc", .attrs = map}, {&a, &b});
  EXPECT_EQ(NumberAt(y, 0), 1.0 + 0x1p-7);
}

/// One entry of a pool by its definition: maximum, or sum and count.
struct PoolEntry {
  double greatest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  int inside = 0;
  int padded = 0;
};

TEST(Pools, FollowTheirDefinition) {
  Rng rng(14);
  for (int round = 0; round < kRounds; ++round) {
    ConvSetup s = DrawConv(rng);
    s.dilations = {1, 1};
    for (std::size_t i = 0; i < 4; ++i) s.pads[i] = std::min(s.pads[i], s.kernel[i % 2] - 1);
    for (std::size_t i = 0; i < 2; ++i) {
      s.in[i] = std::max(s.in[i], s.kernel[i]);
      s.out[i] = (s.in[i] + s.pads[i] + s.pads[i + 2] - s.kernel[i]) / s.strides[i] + 1;
    }
    const Tensor x = Random(rng, DType::kF32, {1, 2, s.in[0], s.in[1]});
    const AttrMap attrs{{"kernel_shape", s.kernel}, {"strides", s.strides}, {"pads", s.pads}};
    AttrMap counted = attrs;
    counted["count_include_pad"] = std::int64_t{1};
    const Tensor greatest = Eval({.op = "MaxPool", .attrs = attrs}, {&x});
    const Tensor mean = Eval({.op = "AveragePool", .attrs = attrs}, {&x});
    const Tensor padded = Eval({.op = "AveragePool", .attrs = counted}, {&x});
    ASSERT_EQ(greatest.dims(), (Dims{1, 2, s.out[0], s.out[1]}));
    for (std::int64_t p = 0; p < greatest.size(); ++p) {
      PoolEntry entry;
      for (std::int64_t k = 0; k < s.kernel[0] * s.kernel[1]; ++k) {
        const std::int64_t i = p / s.out[1] % s.out[0] * s.strides[0] - s.pads[0] + k / s.kernel[1];
        const std::int64_t j = p % s.out[1] * s.strides[1] - s.pads[1] + k % s.kernel[1];
        ++entry.padded;
        if (i < 0 || i >= s.in[0] || j < 0 || j >= s.in[1]) continue;
        const std::int64_t plane = p / (s.out[0] * s.out[1]);
        const double value = NumberAt(x, (plane * s.in[0] + i) * s.in[1] + j);
        entry.greatest = std::max(entry.greatest, value);
        entry.sum += value;
        ++entry.inside;
      }
      ASSERT_EQ(NumberAt(greatest, p), entry.greatest) << "round " << round;
      ASSERT_EQ(NumberAt(mean, p), static_cast<float>(entry.sum / entry.inside));
      ASSERT_EQ(NumberAt(padded, p), static_cast<float>(entry.sum / entry.padded));
    }
  }
}

TEST(Pools, CeilModeLeavesOutAWindowThatStartsInThePadding) {
  const Tensor x = Tensor::From<float>(DType::kF32, {1, 1, 3}, std::vector<float>{1, 2, 3});
  const AttrMap attrs{{"kernel_shape", Ints{2}},
                      {"strides", Ints{2}},
                      {"pads", Ints{1, 1}},
                      {"ceil_mode", std::int64_t{1}}};
  const Tensor y = Eval({.op = "MaxPool", .attrs = attrs}, {&x});
  EXPECT_EQ(y, Tensor::From<float>(DType::kF32, {1, 1, 2}, std::vector<float>{1, 3}));
}

TEST(MatMul, BroadcastsTheBatches) {
  Rng rng(15);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t m = Draw(rng, 1, 4);
    const std::int64_t k = Draw(rng, 0, 5);
    const std::int64_t n = Draw(rng, 1, 4);
    const std::int64_t batch = Draw(rng, 1, 3);
    const DType dtype = round % 2 == 0 ? DType::kF32 : DType::kI64;
    const Tensor a = Random(rng, dtype, {batch, 1, m, k});
    const Tensor b = Random(rng, dtype, {2, k, n});
    const Tensor y = Eval({.op = "MatMul"}, {&a, &b});
    ASSERT_EQ(y.dims(), (Dims{batch, 2, m, n}));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        sum += NumberAt(a, i / (2 * m * n) * m * k + i / n % m * k + j) *
               NumberAt(b, i / (m * n) % 2 * k * n + j * n + i % n);
      }
      ASSERT_EQ(NumberAt(y, i), sum);
    }
  }
}

TEST(Broadcast, StretchesEveryAxisOfOne) {
  Rng rng(16);
  for (int round = 0; round < kRounds; ++round) {
    Dims full;
    Dims a_dims;
    Dims b_dims;
    for (std::int64_t i = Draw(rng, 0, 4); i > 0; --i) {
      full.push_back(Draw(rng, 1, 4));
      a_dims.push_back(rng.Below(3) == 0 ? 1 : full.back());
      b_dims.push_back(a_dims.back() == 1 || rng.Below(3) != 0 ? full.back() : 1);
    }
    const Tensor a = Random(rng, DType::kI32, a_dims);
    // Leading ones may be left out.
    while (!b_dims.empty() && b_dims.front() == 1 && full.front() == 1) {
      b_dims.erase(b_dims.begin());
      break;
    }
    const Tensor b = Random(rng, DType::kI32, b_dims);
    const Tensor y = Eval({.op = "Sub"}, {&a, &b});
    ASSERT_EQ(y.dims(), full);
    const auto at = [&](const Dims& dims, std::int64_t flat) {
      std::int64_t index = 0;
      std::int64_t stride = 1;
      for (std::size_t i = 0; i < full.size(); ++i) {
        const std::size_t axis = full.size() - 1 - i;
        const std::int64_t position = flat % full[axis];
        flat /= full[axis];
        if (i >= dims.size()) continue;
        const std::int64_t size = dims[dims.size() - 1 - i];
        if (size != 1) index += position * stride;
        stride *= size;
      }
      return index;
    };
    for (std::int64_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(NumberAt(y, i), NumberAt(a, at(a_dims, i)) - NumberAt(b, at(b_dims, i)));
    }
  }
}

TEST(QuantizeLinear, RoundsHalfToEvenAndSaturates) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::From<float>(
      DType::kF32, {8},
      std::vector<float>{-0.5F, 0.5F, 1.5F, 2.5F, 1e9F, -1e9F, infinity, -infinity});
  const Tensor scale = Tensor::From<float>(DType::kF32, {}, std::vector<float>{1.0F});
  const Tensor zero = Tensor::From<std::int8_t>(DType::kI8, {}, std::vector<std::int8_t>{0});
  const Tensor y = Eval({.op = "QuantizeLinear"}, {&x, &scale, &zero});
  EXPECT_EQ(y, Tensor::From<std::int8_t>(
                   DType::kI8, {8}, std::vector<std::int8_t>{0, 0, 2, 2, 127, -128, 127, -128}));
}

TEST(QuantizeLinear, RefusesAScaleThatIsNotPositive) {
  const Tensor x(DType::kF32, {1});
  const Tensor scale(DType::kF32, {});
  try {
    (void)Eval({.op = "QuantizeLinear"}, {&x, &scale});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "node 'node' (QuantizeLinear): scales must be positive and finite");
  }
}

TEST(Pow, HasTheTypeOfItsBaseWhateverThatOfTheExponent) {
  const Tensor base = Tensor::From<float>(DType::kF32, {1}, std::vector<float>{1.0009765625F});
  const Tensor two = Tensor::From<float>(DType::kF32, {}, std::vector<float>{2.0F});
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const Tensor narrow = FromF32(two, type);
    EXPECT_EQ(Eval({.op = "Pow"}, {&base, &narrow}), Eval({.op = "Pow"}, {&base, &two}));
    const Tensor narrow_base = FromF32(base, type);
    EXPECT_EQ(Eval({.op = "Pow"}, {&narrow_base, &two}).dtype(), type);
  }
}

TEST(Pow, OfIntegersIsExactAndSaturates) {
  const auto power = [](std::int64_t base, std::int64_t exponent) {
    const Tensor a = Tensor::From<std::int64_t>(DType::kI64, {}, Ints{base});
    const Tensor b = Tensor::From<std::int64_t>(DType::kI64, {}, Ints{exponent});
    return Eval({.op = "Pow"}, {&a, &b}).Values<std::int64_t>()[0];
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(power((std::int64_t{1} << 53) + 1, 1), (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(power(3, 39), 4052555153018976267);
  EXPECT_EQ(power(-3, 39), -4052555153018976267);
  EXPECT_EQ(power(3, 40), kMost);
  EXPECT_EQ(power(-3, 41), kLeast);
  EXPECT_EQ(power(-2, 63), kLeast);
  EXPECT_EQ(power(-1, 1000001), -1);
  EXPECT_EQ(power(7, 0), 1);
  EXPECT_EQ(power(2, -1), 0);
}

TEST(ReduceLogSumExp, PassesNaNWhereverItIs) {
  const float nan = std::nanf("");
  for (const std::vector<float>& numbers :
       {std::vector{nan, 1.0F, 2.0F}, std::vector{1.0F, nan, INFINITY},
        std::vector{INFINITY, 1.0F, nan}}) {
    const Tensor x = Tensor::From<float>(DType::kF32, {3}, numbers);
    EXPECT_TRUE(std::isnan(Eval({.op = "ReduceLogSumExp"}, {&x}).Values<float>()[0]));
  }
}

TEST(TopK, TakesNaNForTheLargest) {
  const Tensor x = Tensor::From<float>(DType::kF32, {5},
                                       std::vector{1.0F, std::nanf(""), 3.0F, std::nanf(""), 2.0F});
  const Tensor k = Tensor::From<std::int64_t>(DType::kI64, {1}, Ints{5});
  const auto order = [&](std::int64_t largest) {
    Node node{.name = "node", .op = "TopK", .attrs = {{"largest", largest}}};
    node.inputs = {ValueId{0}, ValueId{1}};
    node.outputs.resize(2);
    const auto outputs = Ops().Get(node).eval(node, std::vector<const Tensor*>{&x, &k});
    const auto indices = outputs[1].Values<std::int64_t>();
    return Ints(indices.begin(), indices.end());
  };
  EXPECT_EQ(order(1), (Ints{1, 3, 2, 4, 0}));
  EXPECT_EQ(order(0), (Ints{0, 4, 2, 1, 3}));
}

TEST(TopK, KeepsEqualNumbersInTheirOrder) {
  Rng rng(11);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t count = Draw(rng, 1, 40);
    // A few different numbers, and now and then NaN.
    Tensor x(DType::kF32, {count});
    for (float& value : x.MutableValues<float>()) {
      const std::int64_t number = Draw(rng, -2, 3);
      value = number == 3 ? std::nanf("") : static_cast<float>(number);
    }
    const std::int64_t kept = Draw(rng, 0, count);
    const Tensor k = Tensor::From<std::int64_t>(DType::kI64, {1}, Ints{kept});
    const std::int64_t largest = Draw(rng, 0, 1);
    Node node{.name = "node", .op = "TopK", .attrs = {{"largest", largest}}};
    node.inputs = {ValueId{0}, ValueId{1}};
    node.outputs.resize(2);
    const auto outputs = Ops().Get(node).eval(node, std::vector<const Tensor*>{&x, &k});
    // By the definition: a stable sort, with NaN as a number above all others.
    const auto number_at = [&](std::int64_t i) {
      const float value = x.Values<float>()[static_cast<std::size_t>(i)];
      return std::isnan(value) ? INFINITY : value;
    };
    Ints order;
    for (std::int64_t i = 0; i < count; ++i) order.push_back(i);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return largest != 0 ? number_at(b) < number_at(a) : number_at(a) < number_at(b);
    });
    order.resize(static_cast<std::size_t>(kept));
    const auto indices = outputs[1].Values<std::int64_t>();
    EXPECT_EQ(Ints(indices.begin(), indices.end()), order);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const float value = outputs[0].Values<float>()[i];
      EXPECT_EQ(std::isnan(value) ? INFINITY : value, number_at(order[i]));
    }
  }
}

TEST(Conv, RoundsBf16OnceAtTheEnd) {
  // 256 + 1 is not a bf16 number; summed in bf16, every further 1 would be lost.
  const auto bf16 = [](Dims dims, float value) {
    Tensor tensor(DType::kBF16, std::move(dims));
    for (std::uint16_t& bits : tensor.MutableValues<std::uint16_t>()) bits = ToBF16(value);
    return tensor;
  };
  const Tensor x = bf16({1, 512, 1}, 1.0F);
  const Tensor w = bf16({1, 512, 1}, 1.0F);
  EXPECT_EQ(NumberAt(Eval({.op = "Conv"}, {&x, &w}), 0), 512);
}

}  // namespace
}  // namespace msc
