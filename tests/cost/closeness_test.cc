#include "cost/model/closeness.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace msc::cost {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  std::string label;
  std::vector<float> wanted;
  std::vector<float> got;
  double error = 0;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.label;
}
class ClosenessOf : public testing::TestWithParam<Case> {};

TEST_P(ClosenessOf, IsAbsoluteAndRelativeErrorTogether) {
  const auto& [label, wanted, got, error] = GetParam();
  const auto size = static_cast<std::int64_t>(wanted.size());
  const double found = TensorDifference(Tensor::From<float>(DType::kF32, {size}, wanted),
                                        Tensor::From<float>(DType::kF32, {size}, got));
  if (std::isinf(error)) {
    EXPECT_EQ(found, error);
  } else {
    EXPECT_NEAR(found, error, 1e-6 * error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Outputs, ClosenessOf,
    testing::Values(Case{"parts_of_the_range", {-5, 5}, {-5, 4.5F}, 0.05},
                    Case{"one_number_has_its_size", {8}, {8.0078125F}, 0.0078125 / 8},
                    Case{"a_constant_has_its_size", {-2, -2}, {-2, -2.25F}, 0.125},
                    Case{"far_from_zero", {1000, 1000.5F}, {1000, 1000.75F}, 0.25 / 1000.5},
                    Case{"zeros_have_a_least_size", {0, 0}, {0, 1e-8F}, 1e-6},
                    Case{"hardly_any_range", {1e-9F, 2e-9F}, {1e-9F, 1e-8F}, 8e-7},
                    Case{"huge", {3e38F, -3e38F}, {3e38F, -2.7e38F}, 0.05}, Case{"none", {}, {}, 0},
                    Case{"equal", {1, 2}, {1, 2}, 0},
                    Case{"the_same_is_not_finite", {kNaN, kInf, 1, 2}, {kNaN, kInf, 1, 2.5F}, 0.25},
                    Case{"nan_for_a_number", {1, 2}, {1, kNaN}, kInf},
                    Case{"a_number_for_nan", {1, kNaN}, {1, 2}, kInf},
                    Case{"the_other_infinity", {1, kInf}, {1, -kInf}, kInf}),
    [](const auto& test) { return test.param.label; });

TEST(Difference, OfIntegersIsTheShareThatDiffers) {
  const std::vector<std::int64_t> a = {1, 2, 3, 400};
  const std::vector<std::int64_t> b = {1, 2, 3, 4};
  const Tensor wanted = Tensor::From<std::int64_t>(DType::kI64, {4}, a);
  EXPECT_EQ(TensorDifference(wanted, Tensor::From<std::int64_t>(DType::kI64, {4}, b)), 0.25);
  EXPECT_EQ(TensorDifference(wanted, wanted), 0);
  EXPECT_EQ(TensorDifference(wanted, Tensor(DType::kI64, {2, 2})), kInf);
  EXPECT_EQ(TensorDifference(wanted, Tensor(DType::kI32, {4})), kInf);
}

TEST(Difference, OfHalvesIsThatOfTheirNumbers) {
  const std::vector<std::uint16_t> a = {0x3C00, 0x4000, 0x7E00};  // 1, 2, NaN
  const std::vector<std::uint16_t> b = {0x3C00, 0x4100, 0x7E01};  // 1, 2.5, NaN
  const Tensor wanted = Tensor::From<std::uint16_t>(DType::kF16, {3}, a);
  const Tensor got = Tensor::From<std::uint16_t>(DType::kF16, {3}, b);
  EXPECT_EQ(TensorDifference(wanted, got), 0.25);
  EXPECT_EQ(CountNotFinite(wanted), 1);
  EXPECT_EQ(CountNotFinite(Tensor(DType::kI64, {3})), 0);
}

}  // namespace
}  // namespace msc::cost
