#include "cost/quality/changed_samples.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "cost/model/loss.h"

namespace msc::cost {
namespace {

Tensor Output(const Dims& dims, const std::vector<float>& numbers) {
  Tensor tensor(DType::kF32, dims);
  std::ranges::copy(numbers, tensor.MutableValues<float>().begin());
  return tensor;
}

std::vector<ChangedSample> Changed(const OutputForm& form, const std::string& loss,
                                   const Tensor& before, const Tensor& after,
                                   std::size_t most = 8) {
  ChangeMeter meter({{"y", form}}, loss, most);
  meter.Add(100, std::vector{before}, std::vector{after});
  return meter.Largest();
}

TEST(ChangedSamples, AreThoseWithTheLargestLoss) {
  const Tensor before = Output({4, 2}, {0, 1, 0, 1, 0, 1, 0, 1});
  const Tensor after = Output({4, 2}, {0, 1, 3, 1, 0, 0.5, 0, 1});
  const OutputForm logits{.kind = OutputKind::kLogits};
  const auto changed = Changed(logits, "distill_loss", before, after);
  ASSERT_EQ(changed.size(), 2U) << "samples that did not change are left out";
  EXPECT_EQ(changed[0].sample, 101);
  EXPECT_EQ(changed[0].before, "1");
  EXPECT_EQ(changed[0].after, "0");
  EXPECT_EQ(changed[1].sample, 102);
  EXPECT_EQ(changed[1].after, "1");
  // KL of the softmax of (0, 1) and (3, 1).
  const double p0 = 1 / (1 + std::exp(1.0));
  const double q0 = 1 / (1 + std::exp(-2.0));
  EXPECT_NEAR(changed[0].change, p0 * std::log(p0 / q0) + (1 - p0) * std::log((1 - p0) / (1 - q0)),
              1e-6);
  EXPECT_EQ(Changed(logits, "distill_loss", before, after, 1).size(), 1U);
}

TEST(ChangedSamples, OfEqualDecisionsAreRankedByDivergence) {
  const Tensor before = Output({2, 2}, {0, 1, 0, 1});
  const Tensor after = Output({2, 2}, {2, 1, 9, 1});
  const auto changed =
      Changed({.kind = OutputKind::kLogits}, std::string(kDisagreement), before, after);
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[0].measure, kDisagreement);
  EXPECT_EQ(changed[0].change, 100);
  EXPECT_EQ(changed[0].sample, 101);
}

TEST(ChangedSamples, ShowDecodedSequences) {
  // Classes 0 (blank), 1, 2 over four steps: 1 1 0 2 reads 1 2; 1 0 1 2 reads 1 1 2.
  const Tensor before = Output({1, 4, 3}, {0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1});
  const Tensor after = Output({1, 4, 3}, {0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1});
  const auto changed =
      Changed({.kind = OutputKind::kCtc}, std::string(kEditDistance), before, after);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].before, "1 2");
  EXPECT_EQ(changed[0].after, "1 1 2");
  EXPECT_EQ(changed[0].change, 50) << "one edit of two";
}

TEST(ChangedSamples, OfNumbersAreMeasuredByTheLargestDifference) {
  const auto changed = Changed({.kind = OutputKind::kRegression}, std::string(kRelativeError),
                               Output({2, 2}, {1, 2, 3, 4}), Output({2, 2}, {1, 2.5, 3, 2}));
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[0].measure, kLargestDifference);
  EXPECT_EQ(changed[0].change, 2);
  EXPECT_EQ(changed[0].before, "3, 4");
  EXPECT_EQ(changed[0].after, "3, 2");
}

TEST(ChangedSamples, CountDecisionsOfMaps) {
  std::vector<float> before(2 * 64, 0);
  std::vector<float> after = before;
  for (std::size_t i = 0; i < 64; ++i) before[i] = after[i] = 1;
  for (std::size_t i = 0; i < 5; ++i) after[64 + i] = 2;
  const auto changed = Changed({.kind = OutputKind::kLogits, .axis = 1}, std::string(kDistillLoss),
                               Output({1, 2, 8, 8}, before), Output({1, 2, 8, 8}, after));
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].before, "");
  EXPECT_EQ(changed[0].after, "5 of 64 decisions differ");
}

}  // namespace
}  // namespace msc::cost
