#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/dtype.h"
#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/base/hash.h"
#include "compiler/base/rng.h"
#include "compiler/base/shape.h"
#include "compiler/base/with_type.h"
#include "compiler/base/within.h"

namespace msc {
namespace {

TEST(DType, HasOneNameEach) {
  for (int i = 0; i < 17; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(Name(dtype)), dtype);
  }
  EXPECT_EQ(ParseDType("f33"), std::nullopt);
}

TEST(WithInteger, CallsTheBodyWithTheTypeOfTheElements) {
  for (int i = 0; i < 17; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!IsInteger(dtype)) continue;
    const bool is_signed = WithInteger(dtype, []<class T>() { return std::is_signed_v<T>; });
    EXPECT_EQ(is_signed, Name(dtype).starts_with('i')) << Name(dtype);
    EXPECT_EQ(WithInteger(dtype, []<class T>() { return sizeof(T); }), ByteSize(dtype));
  }
}

TEST(WithInteger, RejectsOtherTypes) {
  EXPECT_THROW(WithInteger(DType::kF32, []<class T>() {}), InternalError);
  EXPECT_THROW(WithInteger(DType::kBool, []<class T>() {}), InternalError);
}

TEST(Formatted, PrintsTheValuesAtAnyLength) {
  EXPECT_EQ(Formatted("%.2f of %zu, %s", 1.5, std::size_t{3}, "f32"), "1.50 of 3, f32");
  EXPECT_EQ(Formatted("%s", std::string(1000, 'x').c_str()), std::string(1000, 'x'));
}

/// Rounds by definition: the nearer neighbour, the even one if both are as near.
std::uint16_t NearestByDefinition(float value, float (*from_bits)(std::uint16_t),
                                  std::uint16_t below) {
  const auto above = static_cast<std::uint16_t>(below + 1);
  const double low = from_bits(below);
  const double high = from_bits(above);
  const double down = std::abs(value - low);
  const double up = std::abs(high - value);
  if (down != up) return down < up ? below : above;
  return below % 2 == 0 ? below : above;
}

TEST(BF16, EveryValueSurvivesAndMiddlesRoundToEven) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = FromBF16(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(FromBF16(ToBF16(value)))) << i;
      continue;
    }
    ASSERT_EQ(ToBF16(value), bits);
    if ((i & 0x7FFFU) >= 0x7F7FU) continue;  // the next one is infinite
    for (const std::uint32_t tail : {1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      const auto between = std::bit_cast<float>((i << 16U) | tail);
      ASSERT_EQ(ToBF16(between), NearestByDefinition(between, FromBF16, bits)) << i << " " << tail;
    }
  }
}

TEST(F16, EveryValueSurvivesAndMiddlesRoundToEven) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = FromF16(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(FromF16(ToF16(value)))) << i;
      continue;
    }
    ASSERT_EQ(ToF16(value), bits);
    if ((i & 0x7FFFU) >= 0x7BFFU) continue;
    const float next = FromF16(static_cast<std::uint16_t>(i + 1));
    const float middle = value + (next - value) / 2;
    for (const float between :
         {middle, std::nextafterf(middle, value), std::nextafterf(middle, next)}) {
      ASSERT_EQ(ToF16(between), NearestByDefinition(between, FromF16, bits)) << i;
    }
  }
}

TEST(F16, TooLargeBecomesInfinite) {
  EXPECT_EQ(ToF16(65519.996F), 0x7BFF);
  EXPECT_EQ(ToF16(65520.0F), 0x7C00);
  EXPECT_EQ(ToF16(-INFINITY), 0xFC00);
}

TEST(Sha1, GivesThePublishedDigests) {
  EXPECT_EQ(Sha1().Hex(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  Sha1 parts;
  parts.Add("a");
  parts.Add("bc");
  EXPECT_EQ(parts.Hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Sha256, GivesThePublishedDigests) {
  // FIPS 180-4 examples: the empty message, "abc", and one million 'a'.
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 parts;
  for (int i = 0; i < 1000; ++i) parts.Add(std::string(1000, 'a'));
  EXPECT_EQ(parts.Hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Crc32c, GivesThePublishedValues) {
  // RFC 3720 appendix B.4, and the usual check word.
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(Crc32c(""), 0U);
}

TEST(Rng, DrawsWhatTheStandardFixes) {
  // [rand.predef]: the 10000th draw of a default-seeded mt19937_64.
  std::mt19937_64 standard;
  standard.discard(9999);
  EXPECT_EQ(standard(), 9981545732273789042U);
  Rng a(5);
  std::mt19937_64 b(5);
  EXPECT_EQ(a.Below(std::uint64_t{1} << 63U), b() % (std::uint64_t{1} << 63U));
}

TEST(Rng, IsUniformBelowABound) {
  Rng rng(1);
  std::array<int, 7> counts{};
  constexpr int kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(rng.Below(7));
  double chi = 0;
  for (const int count : counts) chi += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi, 22.46);  // 0.999 quantile of chi-square with 6 degrees of freedom
}

TEST(Rng, NormalHasItsMomentsAndUniformItsRange) {
  Rng rng(2);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.Normal();
    sum += x;
    squares += x * x;
    const double u = rng.Uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.015);  // nearly 5 standard errors
  EXPECT_NEAR(squares / kDraws, 1, 0.025);
}

TEST(Rng, SeedsDependOnOrder) {
  EXPECT_NE(MixSeed({1, 2}), MixSeed({2, 1}));
  EXPECT_NE(MixSeed({0}), MixSeed({0, 0}));
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(ElementCount(Dims{}), 1);
  EXPECT_EQ(ElementCount(Dims{2, 3, 4}), 24);
  EXPECT_EQ(ElementCount(Dims{2, 0}), 0);
}

TEST(Shape, RefusesImpossibleSizes) {
  EXPECT_THROW((void)ElementCount(Dims{-1}), UserError);
  EXPECT_THROW((void)ElementCount(Dims{1 << 21, 1 << 21}), UserError);
  EXPECT_THROW((void)ElementCount(Dims{INT64_MAX, INT64_MAX}), UserError);
}

TEST(Shape, TakesNegativeSizesAsUnknown) {
  EXPECT_EQ(Dim(-7), Dim());
  EXPECT_FALSE(Dim(-7).known());
}

TEST(Shape, BindsSymbols) {
  const Shape shape{Dim::Symbol("n"), Dim::Symbol("m"), Dim(), 4};
  EXPECT_EQ(ToString(shape), "[n,m,?,4]");
  EXPECT_EQ(ToString(Bind(shape, {{"n", 2}})), "[2,m,?,4]");
  EXPECT_EQ(StaticDims(shape), std::nullopt);
  EXPECT_EQ(StaticDims(Shape{1, 2}), (Dims{1, 2}));
}

TEST(Within, SaysItsBoundsInFull) {
  EXPECT_EQ((Within{1, 1000000}).Text(), "between 1 and 1000000");
  EXPECT_EQ((Within{.least = 0.5}).Text(), "at least 0.5");
  EXPECT_EQ((Within{.most = 1e30}).Text(), "at most 1e+30");
  EXPECT_EQ(Within::OneOf({"a", "b"}).Text(), "one of a, b");
}

TEST(Errors, SayWhatAndWhere) {
  EXPECT_STREQ(SystemError("cannot write", 28).what(), "cannot write: No space left on device");
  try {
    Check(false, "one is two", "file.cc", 7);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "file.cc:7: must hold: one is two");
  }
}

}  // namespace
}  // namespace msc
