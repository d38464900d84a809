// Kernels of signals, bits, matrices, sequences, images and selections against their definitions,
// and inputs that they must refuse.

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;
using Complex = std::complex<double>;

Tensor List(const Ints& values) {
  return Tensor::From<std::int64_t>(DType::kI64, {std::ssize(values)}, values);
}

Tensor Number(std::int64_t value) {
  return List({value}).Reshaped({});
}

Tensor Floats(Dims dims, const std::vector<float>& values) {
  return Tensor::From<float>(DType::kF32, std::move(dims), values);
}

Tensor Random(Dims dims) {
  Tensor tensor(DType::kF64, std::move(dims));
  Rng rng(5);
  for (double& value : tensor.MutableValues<double>()) value = rng.Normal();
  return tensor;
}

std::vector<Tensor> Eval(const std::string& op, const std::vector<Tensor>& inputs,
                         const AttrMap& attrs = {}) {
  Node node;
  node.name = "node";
  node.op = op;
  node.attrs = attrs;
  node.inputs.resize(inputs.size(), ValueId{0});
  node.outputs.resize(1);
  std::vector<const Tensor*> operands;
  for (const Tensor& input : inputs) operands.push_back(&input);
  return Ops().Get(node).eval(node, operands);
}

/// Returns the error that a call ends with.
std::string ErrorOf(const std::string& op, const std::vector<Tensor>& inputs,
                    const AttrMap& attrs = {}) {
  try {
    (void)Eval(op, inputs, attrs);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

/// Returns the transform of `length` points by its definition.
std::vector<Complex> Definition(const Tensor& x, std::int64_t length, bool inverse) {
  const auto values = x.Values<double>();
  std::vector<Complex> y;
  for (std::int64_t k = 0; k < length; ++k) {
    Complex sum = 0.0;
    for (std::int64_t n = 0; n < length && n < x.dims()[0]; ++n) {
      const auto at = static_cast<std::size_t>(2 * n);
      const double turn = 2.0 * std::numbers::pi * static_cast<double>(k * n % length) /
                          static_cast<double>(length);
      sum += Complex(values[at], values[at + 1]) * std::polar(1.0, inverse ? turn : -turn);
    }
    y.push_back(inverse ? sum / static_cast<double>(length) : sum);
  }
  return y;
}

TEST(Dft, FollowsItsDefinitionForEveryLength) {
  for (std::int64_t length = 1; length <= 36; ++length) {
    for (const bool inverse : {false, true}) {
      const Tensor x = Random({20, 2});
      const AttrMap attrs = {{"axis", std::int64_t{0}}, {"inverse", std::int64_t{inverse ? 1 : 0}}};
      const Tensor y = Eval("DFT", {x, Number(length)}, attrs)[0];
      const std::vector<Complex> wanted = Definition(x, length, inverse);
      ASSERT_EQ(y.dims(), (Dims{length, 2}));
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_NEAR(y.Values<double>()[2 * k], wanted[k].real(), 1e-12) << length;
        EXPECT_NEAR(y.Values<double>()[2 * k + 1], wanted[k].imag(), 1e-12) << length;
      }
    }
  }
}

TEST(Dft, OfOneSideAndBackGivesTheSignal) {
  for (const std::int64_t length : {1, 2, 7, 12, 16}) {
    const Tensor x = Random({length, 3, 1});
    const AttrMap attrs = {{"axis", std::int64_t{0}}, {"onesided", std::int64_t{1}}};
    const Tensor y = Eval("DFT", {x, Number(length)}, attrs)[0];
    EXPECT_EQ(y.dims(), (Dims{length / 2 + 1, 3, 2}));
    AttrMap back = attrs;
    back["inverse"] = std::int64_t{1};
    const Tensor again = Eval("DFT", {y, Number(length)}, back)[0];
    ASSERT_EQ(again.dims(), x.dims());
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
      EXPECT_NEAR(again.Values<double>()[i], x.Values<double>()[i], 1e-12);
    }
  }
}

TEST(Dft, RefusesLengthsAndAxesThatDoNotFit) {
  const Tensor x = Random({2, 4, 1});
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    EXPECT_NE(ErrorOf("DFT", {x, Number(length)}).find("cannot transform"), std::string::npos);
  }
  EXPECT_NE(ErrorOf("DFT", {x, Number(4), Number(2)}).find("last axis"), std::string::npos);
  EXPECT_NE(ErrorOf("DFT", {x, Number(4), Number(-4)}).find("does not fit"), std::string::npos);
  EXPECT_NE(ErrorOf("DFT", {Random({2, 4, 3})}).find("must be 1 or 2"), std::string::npos);
}

TEST(Stft, RefusesFramesThatDoNotFit) {
  const Tensor x = Random({1, 8, 1});
  EXPECT_NE(ErrorOf("STFT", {x, Number(0)}).find("cannot step"), std::string::npos);
  EXPECT_NE(ErrorOf("STFT", {x, Number(1), Random({9})}).find("longer"), std::string::npos);
  EXPECT_NE(ErrorOf("STFT", {x, Number(1), Random({3}), Number(4)}).find("must be equal"),
            std::string::npos);
}

TEST(Windows, OfOnePointIsOne) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    const Tensor y = Eval(op, {Number(1)}, {{"periodic", std::int64_t{0}}})[0];
    EXPECT_EQ(y.Values<float>()[0], 1.0F) << op;
    EXPECT_EQ(Eval(op, {Number(0)})[0].size(), 0) << op;
    EXPECT_NE(ErrorOf(op, {Number(-1)}).find("cannot be -1"), std::string::npos) << op;
    EXPECT_NE(ErrorOf(op, {Number(std::int64_t{1} << 40)}).find("16 GiB"), std::string::npos) << op;
  }
}

TEST(MelWeightMatrix, RefusesFrequenciesBeyondTheSpectrum) {
  const auto error = [](std::int64_t rate, float lowest, float highest) {
    return ErrorOf("MelWeightMatrix", {Number(8), Number(16), Number(rate), Floats({}, {lowest}),
                                       Floats({}, {highest})});
  };
  EXPECT_EQ(error(8192, 0.0F, 4096.0F), "none");
  EXPECT_NE(error(8192, 0.0F, 100000.0F).find("beyond the spectrum"), std::string::npos);
  EXPECT_NE(error(8192, 10.0F, 1.0F).find("below the lowest"), std::string::npos);
  EXPECT_NE(error(8192, -1.0F, 1.0F).find("frequency"), std::string::npos);
  EXPECT_NE(error(8192, 0.0F, std::numeric_limits<float>::infinity()).find("frequency"),
            std::string::npos);
  EXPECT_NE(error(0, 0.0F, 4096.0F).find("cannot be 0"), std::string::npos);
}

TEST(BitCast, RefusesBytesThatAreNoBool) {
  const Tensor x = Tensor::From<std::uint8_t>(DType::kU8, {2}, std::vector<std::uint8_t>{1, 2});
  const AttrMap to_bool = {{"to", static_cast<std::int64_t>(DType::kBool)}};
  EXPECT_NE(ErrorOf("BitCast", {x}, to_bool).find("must be 0 or 1"), std::string::npos);
  EXPECT_NE(ErrorOf("BitCast", {x}, {{"to", std::int64_t{1}}}).find("cannot read the bits"),
            std::string::npos);
  EXPECT_NE(ErrorOf("BitCast", {x}, {{"to", std::int64_t{99}}}).find("cannot be 99"),
            std::string::npos);
}

TEST(Det, ExchangesRowsAndSeesSingularMatrices) {
  const Tensor x = Floats({3, 3, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 2,    // two rows exchanged
                                      1, 2, 3, 2, 4, 6, 1, 0, 1,    // a row twice another
                                      2, 0, 0, 5, 3, 0, 7, 1, 4});  // a triangle
  const Tensor y = Eval("Det", {x})[0];
  EXPECT_FLOAT_EQ(y.Values<float>()[0], -2.0F);
  EXPECT_EQ(y.Values<float>()[1], 0.0F);
  EXPECT_FLOAT_EQ(y.Values<float>()[2], 24.0F);
  EXPECT_EQ(Eval("Det", {Floats({0, 0}, {})})[0], Floats({}, {1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Eval("Det", {Floats({2, 2}, {0, 1, nan, 1})})[0].Values<float>()[0]));
  EXPECT_NE(ErrorOf("Det", {Floats({1, 2}, {1, 2})}).find("must be equal"), std::string::npos);
}

TEST(CumProd, WrapsIntegersAround) {
  const Tensor y = Eval("CumProd", {List({1LL << 40, 1LL << 23, 2}), Number(0)})[0];
  EXPECT_EQ(y, List({1LL << 40, std::numeric_limits<std::int64_t>::min(), 0}));
}

TEST(Gather, ReadsLargeIndicesExactly) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::string error = ErrorOf("Gather", {List({1, 2, 3}), List({most})});
  EXPECT_NE(error.find("index " + std::to_string(most) + " is outside"), std::string::npos)
      << error;
}

TEST(PRelu, OfIntegersWrapsAround) {
  Node node;
  node.op = "PRelu";
  node.inputs = {ValueId{0}, ValueId{0}};
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  const Tensor x = Tensor::From<std::int32_t>(DType::kI32, {4}, std::vector{-3, 5, least, 0});
  const Tensor slope = Tensor::From<std::int32_t>(DType::kI32, {1}, std::vector{2});
  const std::vector<const Tensor*> given = {&x, &slope};
  const Tensor y = Ops().Get(node).eval(node, given)[0];
  EXPECT_EQ(y, Tensor::From<std::int32_t>(DType::kI32, {4}, std::vector{-6, 5, 0, 0}));
}

TEST(SequenceOrder, RefusesStepsOutOfRange) {
  const Tensor x = Random({3, 2});
  for (const std::int64_t length : {-1, 4}) {
    EXPECT_NE(ErrorOf("ReverseSequence", {x, List({1, length})}).find("must be between"),
              std::string::npos);
  }
  EXPECT_NE(ErrorOf("ReverseSequence", {x, List({1})}).find("must be equal"), std::string::npos);
  const Tensor cache = Random({1, 4, 2});
  const Tensor update = Random({1, 2, 2});
  for (const std::int64_t first :
       {std::int64_t{-1}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_NE(ErrorOf("TensorScatter", {cache, update, List({first})}).find("do not fit"),
              std::string::npos);
  }
  EXPECT_NE(ErrorOf("TensorScatter", {update, cache}).find("does not fit"), std::string::npos);
}

TEST(TensorScatter, WrapsAroundInACircle) {
  const Tensor cache = Floats({1, 4, 1}, {1, 2, 3, 4});
  const Tensor update = Floats({1, 2, 1}, {8, 9});
  const AttrMap circular = {{"mode", std::string("circular")}};
  for (const std::int64_t first : {3, 7, -1}) {
    EXPECT_EQ(Eval("TensorScatter", {cache, update, List({first})}, circular)[0],
              Floats({1, 4, 1}, {9, 2, 3, 8}));
  }
}

TEST(CenterCropPad, PutsTheOddElementBehind) {
  const Tensor x = Floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(Eval("CenterCropPad", {x, List({1})})[0], Floats({1}, {2}));
  EXPECT_EQ(Eval("CenterCropPad", {x, List({7})})[0], Floats({7}, {0, 1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(Eval("CenterCropPad", {x, List({0})})[0].size(), 0);
  EXPECT_NE(ErrorOf("CenterCropPad", {x, List({-1})}).find("cannot crop"), std::string::npos);
  EXPECT_NE(ErrorOf("CenterCropPad", {x, List({1, 1})}).find("must have a size"),
            std::string::npos);
  EXPECT_NE(ErrorOf("CenterCropPad", {x, List({std::int64_t{1} << 62})}).find("2^40"),
            std::string::npos);
}

TEST(Col2Im, RefusesBlocksThatDoNotFit) {
  const Tensor x = Random({1, 4, 4});
  EXPECT_EQ(ErrorOf("Col2Im", {x, List({3, 3}), List({2, 2})}), "none");
  EXPECT_NE(ErrorOf("Col2Im", {x, List({4, 3}), List({2, 2})}).find("must be equal"),
            std::string::npos);
  EXPECT_NE(ErrorOf("Col2Im", {x, List({3, 3}), List({2, 0})}).find("out of range"),
            std::string::npos);
  EXPECT_NE(ErrorOf("Col2Im", {x, List({3, 3}), List({4, 2})}).find("larger than"),
            std::string::npos);
  EXPECT_NE(ErrorOf("Col2Im", {x, List({3, 3}), List({2})}).find("rank"), std::string::npos);
  EXPECT_NE(ErrorOf("Col2Im", {x, List({3, 3}), List({2, 2})},
                    {{"strides", Ints{1, std::numeric_limits<std::int64_t>::max()}}})
                .find("out of range"),
            std::string::npos);
}

TEST(Compress, RefusesAnEntryBehindTheEnd) {
  const auto chosen = [](const std::vector<std::uint8_t>& values) {
    return Tensor::From<std::uint8_t>(DType::kBool, {std::ssize(values)}, values);
  };
  const Tensor x = List({5, 6});
  EXPECT_EQ(Eval("Compress", {x, chosen({0, 1, 0})})[0], List({6}));
  EXPECT_NE(ErrorOf("Compress", {x, chosen({0, 1, 1})}).find("chooses entry 2"), std::string::npos);
}

TEST(NonZero, OfAScalarHasNoRows) {
  EXPECT_EQ(Eval("NonZero", {Number(3)})[0].dims(), (Dims{0, 1}));
  EXPECT_EQ(Eval("NonZero", {Number(0)})[0].dims(), (Dims{0, 0}));
}

TEST(Unique, TakesNaNForOneValueAndTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> y = Eval("Unique", {Floats({4}, {nan, 1, nan, 0})});
  EXPECT_EQ(y[1], List({3, 1, 0}));
  EXPECT_EQ(y[2], List({2, 1, 2, 0}));
  EXPECT_EQ(y[3], List({1, 1, 2}));
}

TEST(Unique, RefusesManyEntriesWithoutElements) {
  const Tensor x(DType::kF32, {std::int64_t{1} << 40, 0});
  EXPECT_NE(ErrorOf("Unique", {x}, {{"axis", std::int64_t{0}}}).find("empty entries"),
            std::string::npos);
}

TEST(NonMaxSuppression, TakesNoBoxesUnlessAskedAndNaNLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor boxes = Floats({1, 3, 4}, {0, 0, 1, 1, 5, 5, 6, 6, 8, 8, 9, 9});
  const Tensor scores = Floats({1, 1, 3}, {nan, 1, 2});
  EXPECT_EQ(Eval("NonMaxSuppression", {boxes, scores})[0].dims(), (Dims{0, 3}));
  EXPECT_EQ(Eval("NonMaxSuppression", {boxes, scores, Number(3)})[0],
            List({0, 0, 2, 0, 0, 1, 0, 0, 0}).Reshaped({3, 3}));
  EXPECT_EQ(Eval("NonMaxSuppression", {boxes, scores, Number(-3)})[0].dims(), (Dims{0, 3}));
  EXPECT_NE(ErrorOf("NonMaxSuppression", {boxes, Floats({1, 1, 2}, {1, 1})}).find("must be equal"),
            std::string::npos);
}

TEST(BitShift, FillsWithTheSignAndShiftsAllBitsOut) {
  const auto shift = [](const char* direction, const Ints& x, const Ints& by) {
    return Eval("BitShift", {List(x), List(by)}, {{"direction", std::string(direction)}})[0];
  };
  EXPECT_EQ(shift("RIGHT", {-9, 9, -9, 9, -1}, {2, 2, 64, 64, -3}), List({-3, 2, -1, 0, -1}));
  EXPECT_EQ(shift("LEFT", {-1, 1, 1, 1}, {2, 63, 64, -1}),
            List({-4, std::numeric_limits<std::int64_t>::min(), 0, 0}));
}

// Source: ONNX operator page Mod-28.
TEST(Mod, OfFloatsHasTheSignOfTheDivisor) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor y = Eval("Mod", {Floats({6}, {-4.3F, 4.3F, -0.0F, 5, -5, 7}),
                                Floats({6}, {3, -3, 2, infinity, infinity, 0})})[0];
  const auto values = y.Values<float>();
  EXPECT_NEAR(values[0], 1.7F, 1e-6F);
  EXPECT_NEAR(values[1], -1.7F, 1e-6F);
  EXPECT_EQ(values[2], 0.0F);
  EXPECT_FALSE(std::signbit(values[2]));
  EXPECT_EQ(values[3], 5.0F);
  EXPECT_EQ(values[4], infinity);
  EXPECT_TRUE(std::isnan(values[5]));
  EXPECT_NEAR(Eval("Mod", {Floats({1}, {-4.3F}), Floats({1}, {3})}, {{"fmod", std::int64_t{1}}})[0]
                  .Values<float>()[0],
              -1.3F, 1e-6F);
}

TEST(SpaceToDepth, IsUndoneByDepthToSpaceInBothModes) {
  const Tensor x = Random({2, 3, 4, 6});
  for (const char* mode : {"DCR", "CRD"}) {
    const AttrMap attrs = {{"blocksize", std::int64_t{2}}, {"mode", std::string(mode)}};
    EXPECT_EQ(Eval("DepthToSpace", {Eval("SpaceToDepth", {x}, attrs)[0]}, attrs)[0], x) << mode;
  }
}

TEST(Equal, ComparesStrings) {
  const auto words = [](Dims dims, std::vector<std::string> texts) {
    Tensor tensor(DType::kString, std::move(dims));
    tensor.mutable_strings() = std::move(texts);
    return tensor;
  };
  const std::vector<std::uint8_t> wanted = {1, 0, 0, 0, 1, 0};
  EXPECT_EQ(Eval("Equal", {words({2, 1}, {"a", "b"}), words({3}, {"a", "b", ""})})[0],
            (Tensor::From<std::uint8_t>(DType::kBool, {2, 3}, wanted)));
  EXPECT_NE(ErrorOf("Less", {words({1}, {"a"}), words({1}, {"b"})}), "none");
}

TEST(Range, OfHalvesIsComputedInF32) {
  const auto half = [](float value) {
    const std::uint16_t bits = ToF16(value);
    return Tensor::From<std::uint16_t>(DType::kF16, {}, std::span(&bits, 1));
  };
  const Tensor y = Eval("Range", {half(2048), half(2056), half(3)})[0];
  const std::vector<std::uint16_t> wanted = {ToF16(2048), ToF16(2051), ToF16(2054)};
  EXPECT_EQ(y, (Tensor::From<std::uint16_t>(DType::kF16, {3}, wanted)));
}

Tensor RandomFloats(Dims dims, std::uint64_t seed) {
  Tensor tensor(DType::kF32, std::move(dims));
  Rng rng(seed);
  for (float& value : tensor.MutableValues<float>()) value = static_cast<float>(rng.Normal());
  return tensor;
}

// Source: ONNX operator page LinearAttention-27, the rule gated_delta; one head of queries a head.
TEST(LinearAttention, FollowsItsDefinition) {
  constexpr std::size_t kSteps = 3;
  constexpr std::size_t kHeads = 2;
  constexpr std::size_t kKeys = 4;
  constexpr std::size_t kValues = 5;
  const Tensor q = RandomFloats({1, 3, 8}, 1);
  const Tensor k = RandomFloats({1, 3, 8}, 2);
  const Tensor v = RandomFloats({1, 3, 10}, 3);
  const Tensor past = RandomFloats({1, 2, 4, 5}, 4);
  const Tensor decay = RandomFloats({1, 3, 8}, 5);
  const Tensor beta = RandomFloats({1, 3, 2}, 6);
  const std::vector<Tensor> made =
      Eval("LinearAttention", {q, k, v, past, decay, beta},
           {{"q_num_heads", std::int64_t{2}}, {"kv_num_heads", std::int64_t{2}}, {"scale", 0.5F}});
  const auto at = [](const Tensor& tensor, std::size_t i) {
    return static_cast<double>(tensor.Values<float>()[i]);
  };
  for (std::size_t head = 0; head < kHeads; ++head) {
    double state[kKeys][kValues];  // NOLINT(modernize-avoid-c-arrays)
    for (std::size_t i = 0; i < kKeys; ++i) {
      for (std::size_t j = 0; j < kValues; ++j) {
        state[i][j] = at(past, (head * kKeys + i) * kValues + j);
      }
    }
    for (std::size_t t = 0; t < kSteps; ++t) {
      const std::size_t row = (t * kHeads + head) * kKeys;
      for (std::size_t i = 0; i < kKeys; ++i) {
        for (double& value : state[i]) value *= std::exp(at(decay, row + i));
      }
      for (std::size_t j = 0; j < kValues; ++j) {
        double known = 0;
        for (std::size_t i = 0; i < kKeys; ++i) known += state[i][j] * at(k, row + i);
        const std::size_t column = (t * kHeads + head) * kValues + j;
        const double added = at(beta, t * kHeads + head) * (at(v, column) - known);
        double y = 0;
        for (std::size_t i = 0; i < kKeys; ++i) {
          state[i][j] += at(k, row + i) * added;
          y += 0.5 * state[i][j] * at(q, row + i);
        }
        EXPECT_NEAR(at(made[0], column), y, 1e-3 * (1 + std::abs(y)));
      }
    }
    for (std::size_t i = 0; i < kKeys; ++i) {
      for (std::size_t j = 0; j < kValues; ++j) {
        EXPECT_NEAR(at(made[1], (head * kKeys + i) * kValues + j), state[i][j],
                    1e-3 * (1 + std::abs(state[i][j])));
      }
    }
  }
}

TEST(LinearAttention, RefusesInputsThatDoNotFitItsRule) {
  const Tensor x = RandomFloats({1, 3, 8}, 1);
  const AttrMap heads = {{"q_num_heads", std::int64_t{2}}, {"kv_num_heads", std::int64_t{2}}};
  EXPECT_NE(ErrorOf("LinearAttention", {x, x, x}, heads).find("does not fit the inputs decay"),
            std::string::npos);
  AttrMap linear = heads;
  linear["update_rule"] = std::string("linear");
  EXPECT_EQ(ErrorOf("LinearAttention", {x, x, x}, linear), "none");
  linear["q_num_heads"] = std::int64_t{3};
  EXPECT_NE(ErrorOf("LinearAttention", {x, x, x}, linear).find("multiple of that"),
            std::string::npos);
  linear["q_num_heads"] = linear["kv_num_heads"] = std::int64_t{3};
  EXPECT_NE(ErrorOf("LinearAttention", {x, x, x}, linear).find("does not have 3 heads"),
            std::string::npos);
}

}  // namespace
}  // namespace msc
