// Element types of 8 bits and less that a graph holds in wider ones.

#include "compiler/ops/narrow.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor Cast(const std::string& to, const Tensor& x, const AttrMap& more = {}) {
  Node node{.name = "n", .op = "CastNarrow", .domain = "msc"};
  node.attrs = more;
  node.attrs["to"] = to;
  node.inputs = {ValueId{0}};
  node.outputs.resize(1);
  const Tensor* input = &x;
  return Ops().Get(node).eval(node, std::span(&input, 1)).front();
}

std::vector<float> CastFloats(const std::string& to, const std::vector<float>& x,
                              const AttrMap& more = {}) {
  const Tensor input = Tensor::From<float>(DType::kF32, {std::ssize(x)}, x);
  const Tensor y = Cast(to, input, more);
  const auto values = y.Values<float>();
  return {values.begin(), values.end()};
}

/// All bit patterns of a type by their values: a value casts to itself, and one between two
/// neighbours to the nearer one, or to the one with an even pattern.
class NarrowFloats : public testing::TestWithParam<std::string> {};

TEST_P(NarrowFloats, KeepTheirValuesAndRoundToTheNearest) {
  const NarrowType& type = *FindNarrowType(GetParam());
  const std::uint32_t half = 1U << static_cast<unsigned>(type.bits - 1);
  for (std::uint32_t bits = 0; bits + 1 < half; ++bits) {
    const auto value = static_cast<float>(NarrowValue(type, bits));
    const auto next = static_cast<float>(NarrowValue(type, bits + 1));
    if (!std::isfinite(value) || !std::isfinite(next)) continue;
    ASSERT_LT(value, next);
    const float tie = (value + next) / 2;
    const float even = bits % 2 == 0 ? value : next;
    const std::vector<float> given = {
        value, next, tie, std::nextafter(tie, 0.0F), std::nextafter(tie, kInfinity), -tie};
    const std::vector<float> wanted = {value, next, even, value, next, -even};
    EXPECT_EQ(CastFloats(GetParam(), given), wanted) << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowFloats,
                         testing::Values("float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
                                         "float8e5m2fnuz", "float4e2m1", "float6e2m3",
                                         "float6e3m2"),
                         [](const auto& param) { return param.param; });

struct Limits {
  std::string type;
  float greatest;
  float beyond;  ///< without saturation
};

// Source: ONNX documentation, technical/float8, table of casts.
TEST(NarrowFloats, SaturateOnlyWhereAsked) {
  const std::vector<Limits> all = {{"float8e4m3fn", 448, kNan},
                                   {"float8e4m3fnuz", 240, kNan},
                                   {"float8e5m2", 57344, kInfinity},
                                   {"float8e5m2fnuz", 57344, kNan},
                                   {"float4e2m1", 6, 6},
                                   {"float6e2m3", 7.5, 7.5},
                                   {"float6e3m2", 28, 28}};
  for (const Limits& one : all) {
    EXPECT_EQ(CastFloats(one.type, {1e6F, -kInfinity}),
              (std::vector<float>{one.greatest, -one.greatest}))
        << one.type;
    const float beyond = CastFloats(one.type, {1e6F}, {{"saturate", std::int64_t{0}}})[0];
    EXPECT_TRUE(beyond == one.beyond || (std::isnan(beyond) && std::isnan(one.beyond))) << one.type;
  }
  EXPECT_TRUE(std::isnan(CastFloats("float8e5m2", {kNan})[0]));
  EXPECT_EQ(CastFloats("float4e2m1", {kNan})[0], 0.0F);
}

TEST(NarrowFloats, WithoutMinusZeroHaveZero) {
  EXPECT_FALSE(std::signbit(CastFloats("float8e4m3fnuz", {-1e-9F})[0]));
  EXPECT_TRUE(std::signbit(CastFloats("float8e4m3fn", {-1e-9F})[0]));
}

TEST(PowersOfTwo, RoundAsAsked) {
  const std::vector<float> x = {3.0F, 2.0F, 0.3F, 1.5F};
  const auto mode = [&](const char* name) {
    return CastFloats("float8e8m0", x, {{"round_mode", std::string(name)}});
  };
  EXPECT_EQ(mode("up"), (std::vector<float>{4, 2, 0.5, 2}));
  EXPECT_EQ(mode("down"), (std::vector<float>{2, 2, 0.25, 1}));
  EXPECT_EQ(mode("nearest"), (std::vector<float>{4, 2, 0.25, 2}));
  EXPECT_EQ(CastFloats("float8e8m0", {0.0F})[0], std::ldexp(1.0F, -127));
  EXPECT_EQ(CastFloats("float8e8m0", {std::numeric_limits<float>::max()})[0],
            std::ldexp(1.0F, 127));
  EXPECT_TRUE(std::isnan(CastFloats("float8e8m0", {kInfinity})[0]));
}

TEST(NarrowIntegers, KeepTheLowBits) {
  const std::vector<std::int64_t> x = {7, 8, -9, 300, (std::int64_t{1} << 60) + 3};
  const Tensor input = Tensor::From<std::int64_t>(DType::kI64, {5}, x);
  const std::vector<std::int8_t> signed_bits = {7, -8, 7, -4, 3};
  EXPECT_EQ(Cast("int4", input), (Tensor::From<std::int8_t>(DType::kI8, {5}, signed_bits)));
  const std::vector<std::uint8_t> bits = {3, 0, 3, 0, 3};
  EXPECT_EQ(Cast("uint2", input), (Tensor::From<std::uint8_t>(DType::kU8, {5}, bits)));
  const std::vector<float> floats = {-1.9F, kNan, 9.5F};
  const std::vector<std::uint8_t> truncated = {15, 0, 9};
  EXPECT_EQ(Cast("uint4", Tensor::From<float>(DType::kF32, {3}, floats)),
            (Tensor::From<std::uint8_t>(DType::kU8, {3}, truncated)));
}

TEST(NarrowTypes, KnowTheirNumbers) {
  const auto first = [](const char* type, const std::vector<float>& x) {
    return FirstNotIn(*FindNarrowType(type), Tensor::From<float>(DType::kF32, {std::ssize(x)}, x));
  };
  EXPECT_EQ(first("float4e2m1", {0, -0.0F, 0.5F, -6, 1.5F}), std::nullopt);
  EXPECT_EQ(first("float4e2m1", {0.5F, 0.25F, 7}), 0.25);
  EXPECT_EQ(first("float8e5m2", {kNan, kInfinity, -kInfinity, 57344}), std::nullopt);
  EXPECT_TRUE(std::isnan(first("float4e2m1", {kNan}).value()));
  EXPECT_EQ(first("float8e4m3fn", {448, kInfinity}), std::numeric_limits<double>::infinity());
  const std::vector<std::int8_t> bytes = {-8, 7, 8};
  const Tensor integers = Tensor::From<std::int8_t>(DType::kI8, {3}, bytes);
  EXPECT_EQ(FirstNotIn(*FindNarrowType("int4"), integers), 8.0);
}

TEST(NarrowTypes, UnknownOnesAreRejected) {
  const auto error = [](const std::string& to, const AttrMap& more) -> std::string {
    try {
      (void)CastFloats(to, {1.0F}, more);
    } catch (const UserError& refused) {
      return refused.what();
    }
    return "none";
  };
  EXPECT_EQ(error("float7", {}), "node 'n' (msc.CastNarrow): attribute 'to' cannot be 'float7'");
  EXPECT_EQ(error("int4", {{"round_mode", std::string("sideways")}}),
            "node 'n' (msc.CastNarrow): attribute 'round_mode' cannot be 'sideways'");
}

}  // namespace
}  // namespace msc
