#include "cost/quality/quality.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "tests/support/labels.h"

namespace msc::cost {
namespace {

Tensor Logits(Dims dims, const std::vector<float>& values) {
  return Tensor::From<float>(DType::kF32, std::move(dims), values);
}

Tensor RandomLogits(Dims dims, std::uint64_t seed) {
  Rng rng(seed);
  Tensor tensor(DType::kF32, std::move(dims));
  for (float& value : tensor.MutableValues<float>()) value = static_cast<float>(3 * rng.Normal());
  return tensor;
}

OutputForms Classes(std::size_t outputs = 1) {
  OutputForms forms;
  for (std::size_t i = 0; i < outputs; ++i) {
    forms.push_back({std::to_string(i), {.kind = OutputKind::kLogits}});
  }
  return forms;
}

double ValueOf(const Quality& quality, const std::string& loss) {
  return quality.Loss(loss).value().value;
}
double ErrorOf(const Quality& quality, const std::string& loss) {
  return quality.Loss(loss).value().error;
}

/// Compares one pair of logits.
Result<Quality> CompareQuality(const Tensor& reference, const Tensor& candidate,
                               const std::vector<std::int32_t>& labels) {
  QualityMeter meter(Classes());
  std::vector<OutputLabels> bound;
  if (!labels.empty()) {
    bound.push_back(
        {.output = "0", .kind = LabelKind::kClasses, .numbers = ClassFile(labels).numbers});
  }
  auto failure = meter.Add({&reference, 1}, {&candidate, 1}, {.labels = bound});
  if (failure) return *std::move(failure);
  return meter.Total();
}

/// The definition, term by term, in long double and without any shift.
struct Losses {
  double kl = 0;
  double relative_error = 0;
  double disagreement = 0;
};
Losses BruteForce(const Tensor& p, const Tensor& q) {
  const auto classes = static_cast<std::size_t>(p.dims().back());
  const auto a = p.Values<float>();
  const auto b = q.Values<float>();
  Losses losses;
  long double kl = 0;
  long double error = 0;
  long double mean = 0;
  std::size_t agreeing = 0;
  for (std::size_t row = 0; row < a.size(); row += classes) {
    long double sum_a = 0;
    long double sum_b = 0;
    std::size_t best_a = 0;
    std::size_t best_b = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      sum_a += std::exp(static_cast<long double>(a[row + c]));
      sum_b += std::exp(static_cast<long double>(b[row + c]));
      if (a[row + c] > a[row + best_a]) best_a = c;
      if (b[row + c] > b[row + best_b]) best_b = c;
    }
    for (std::size_t c = 0; c < classes; ++c) {
      const long double pa = std::exp(static_cast<long double>(a[row + c])) / sum_a;
      const long double pb = std::exp(static_cast<long double>(b[row + c])) / sum_b;
      kl += pa * std::log(pa / pb);
    }
    agreeing += best_a == best_b ? 1 : 0;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean += a[i];
    error += (static_cast<long double>(b[i]) - a[i]) * (static_cast<long double>(b[i]) - a[i]);
  }
  mean /= static_cast<long double>(a.size());
  long double variance = 0;
  for (const float value : a) variance += (value - mean) * (value - mean);
  const auto rows = static_cast<long double>(a.size() / classes);
  losses.kl = static_cast<double>(kl / rows);
  losses.relative_error = static_cast<double>(std::sqrt(error / variance));
  losses.disagreement = static_cast<double>(100 - 100 * static_cast<long double>(agreeing) / rows);
  return losses;
}

double ErrorOfMean(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double variance = 0;
  for (const double value : values) variance += (value - mean) * (value - mean) / (count - 1);
  return std::sqrt(variance / count);
}

TEST(Quality, OfEqualOutputsIsPerfect) {
  const Tensor logits = RandomLogits({50, 10}, 1);
  const auto quality = CompareQuality(logits, logits, {});
  ASSERT_TRUE(quality.ok());
  for (const auto& [name, loss] : quality.value().Losses()) {
    EXPECT_EQ(loss, (Estimate{0, 0})) << name;
  }
  EXPECT_EQ(quality.value().samples, 50);
}

TEST(Quality, EqualsTheDefinitionOnRandomOutputs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Dims dims = seed % 2 == 0 ? Dims{17, 5} : Dims{3, 4, 2, 7};
    const Tensor p = RandomLogits(dims, seed);
    const Tensor q = RandomLogits(dims, seed + 100);
    const auto quality = CompareQuality(p, q, {});
    ASSERT_TRUE(quality.ok());
    const Losses wanted = BruteForce(p, q);
    EXPECT_NEAR(ValueOf(quality.value(), "distill_loss"), wanted.kl, 1e-10);
    EXPECT_NEAR(ValueOf(quality.value(), "relative_error"), wanted.relative_error, 1e-10);
    EXPECT_NEAR(ValueOf(quality.value(), "disagreement"), wanted.disagreement, 1e-10);
    EXPECT_EQ(quality.value().samples, dims[0]);
  }
}

TEST(Quality, HoldsForLogitsWhoseExponentialsOverflow) {
  const Tensor p = Logits({1, 2}, {10000, 10001});
  const Tensor q = Logits({1, 2}, {-30000, -30000});
  const auto quality = CompareQuality(p, q, {});
  ASSERT_TRUE(quality.ok());
  const double a = 1 / (1 + std::exp(1.0));
  EXPECT_NEAR(ValueOf(quality.value(), "distill_loss"),
              a * std::log(2 * a) + (1 - a) * std::log(2 * (1 - a)), 1e-12);
}

TEST(Quality, IsTheSameHoweverTheSamplesAreCut) {
  const Tensor p = RandomLogits({12, 4}, 3);
  const Tensor q = RandomLogits({12, 4}, 4);
  const std::vector<std::int32_t> labels = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  const auto whole = CompareQuality(p, q, labels);
  ASSERT_TRUE(whole.ok());
  const std::vector<OutputLabels> bound = {
      {.output = "0", .kind = LabelKind::kClasses, .numbers = ClassFile(labels).numbers}};
  QualityMeter meter(Classes());
  std::size_t first = 0;
  for (const std::size_t count : {std::size_t{5}, std::size_t{1}, std::size_t{6}}) {
    const auto cut = [&](const Tensor& t) {
      return Tensor::From<float>(DType::kF32, {static_cast<std::int64_t>(count), 4},
                                 t.Values<float>().subspan(first * 4, count * 4));
    };
    const Tensor a = cut(p);
    const Tensor b = cut(q);
    const LabelRows rows{.labels = bound, .first = static_cast<std::int64_t>(first)};
    EXPECT_EQ(meter.Add({&a, 1}, {&b, 1}, rows), std::nullopt);
    first += count;
  }
  const Quality total = meter.Total();
  for (const auto& [name, loss] : whole.value().Losses()) {
    EXPECT_NEAR(ValueOf(total, name), loss.value, 1e-12) << name;
    EXPECT_NEAR(ErrorOf(total, name), loss.error, 1e-12) << name;
  }
  EXPECT_EQ(total.accuracy, whole.value().accuracy);
  EXPECT_EQ(total.samples, 12);
}

TEST(Quality, CountsLabelsHitByBoth) {
  const Tensor p = Logits({4, 2}, {1, 0, 1, 0, 0, 1, 0, 1});
  const Tensor q = Logits({4, 2}, {1, 0, 0, 1, 0, 1, 1, 0});
  const std::vector<std::int32_t> labels = {0, 1, 1, 0};
  const auto quality = CompareQuality(p, q, labels);
  ASSERT_TRUE(quality.ok());
  EXPECT_EQ(quality.value().accuracy, 1.0);
  EXPECT_EQ(quality.value().reference_accuracy, 0.5);
  EXPECT_EQ(ValueOf(quality.value(), "disagreement"), 50);
  EXPECT_EQ(ValueOf(quality.value(), "accuracy_drop"), -50);
}

TEST(Quality, KnowsItsStandardErrorsBySamples) {
  // Two rows a sample, as of a segmentation: samples, not rows, are independent.
  const Tensor p = RandomLogits({30, 2, 3}, 7);
  const Tensor q = RandomLogits({30, 2, 3}, 8);
  std::vector<double> kl;
  std::vector<double> changed;
  const auto row = [](const Tensor& t, std::size_t i) {
    return Tensor::From<float>(DType::kF32, {1, 2, 3}, t.Values<float>().subspan(i * 6, 6));
  };
  for (std::size_t i = 0; i < 30; ++i) {
    const auto one = CompareQuality(row(p, i), row(q, i), {});
    EXPECT_EQ(ErrorOf(one.value(), "distill_loss"), 0) << "of a single sample nothing is known";
    kl.push_back(ValueOf(one.value(), "distill_loss"));
    changed.push_back(ValueOf(one.value(), "disagreement"));
  }
  const Quality whole = CompareQuality(p, q, {}).value();
  EXPECT_NEAR(ErrorOf(whole, "distill_loss"), ErrorOfMean(kl), 1e-12);
  EXPECT_NEAR(ErrorOf(whole, "disagreement"), ErrorOfMean(changed), 1e-12);
  EXPECT_EQ(whole.accuracy_error, 0) << "without labels";
}

TEST(Quality, ComparesAccuraciesSampleBySample) {
  // Of six samples the candidate loses one and gains one: what both hit or miss adds no doubt.
  const Tensor p = Logits({6, 2}, {1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0});
  const Tensor q = Logits({6, 2}, {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0});
  const std::vector<std::int32_t> labels = {0, 0, 0, 0, 0, 0};
  const Quality quality = CompareQuality(p, q, labels).value();
  EXPECT_EQ(ValueOf(quality, "accuracy_drop"), 0.0);
  EXPECT_NEAR(quality.accuracy_error, ErrorOfMean({0, -1, 1, 0, 0, 0}), 1e-12);
}

TEST(Quality, IsThatOfTheOutputThatLostMost) {
  const std::vector<Tensor> p = {RandomLogits({6, 3}, 1), RandomLogits({6, 5}, 2)};
  const std::vector<Tensor> q = {p[0], RandomLogits({6, 5}, 4)};
  QualityMeter meter(Classes(2));
  ASSERT_EQ(meter.Add(p, q, {}), std::nullopt);
  const Quality quality = meter.Total();
  const Quality second = CompareQuality(p[1], q[1], {}).value();
  EXPECT_EQ(quality.Loss("distill_loss"), second.Loss("distill_loss"));
  EXPECT_EQ(ValueOf(quality, "distill_loss:0"), 0);
  EXPECT_EQ(quality.Loss("distill_loss:1"), second.Loss("distill_loss"));
  EXPECT_EQ(quality.Loss("distill_loss:2"), std::nullopt);
  EXPECT_EQ(quality.Losses().size(), 9U) << "three of each output, and three of the worst";
  EXPECT_EQ(quality.samples, 6);
}

TEST(Quality, ComparesAConstantReferenceByThePlainError) {
  const auto quality = CompareQuality(Logits({1, 2}, {1, 1}), Logits({1, 2}, {1, 3}), {});
  ASSERT_TRUE(quality.ok());
  EXPECT_EQ(ValueOf(quality.value(), "relative_error"), std::sqrt(2.0));
}

TEST(Quality, FailsACandidateThatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const auto quality = CompareQuality(Logits({1, 2}, {1, 2}), Logits({1, 2}, {1, bad}), {});
    ASSERT_FALSE(quality.ok());
    EXPECT_EQ(quality.failure(), (Failure{FailureKind::kWrongOutput, "output '0' is not finite"}));
  }
}

TEST(Quality, FailsACandidateOfAnotherShapeOrType) {
  const auto quality = CompareQuality(Logits({1, 2}, {1, 2}), Logits({2, 1}, {1, 2}), {});
  ASSERT_FALSE(quality.ok());
  EXPECT_EQ(quality.failure(),
            (Failure{FailureKind::kWrongOutput, "output '0' is f32[2,1] instead of f32[1,2]"}));
}

TEST(Quality, RefusesAReferenceThatIsNotFinite) {
  try {
    (void)CompareQuality(Logits({1, 2}, {1, std::nanf("")}), Logits({1, 2}, {1, 1}), {});
    FAIL() << "it was compared";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "output '0' of the uncompressed model is not finite on these samples");
  }
}

TEST(QualityMeter, TellsTheLargestErrorRelativeToTheRange) {
  const Tensor p = Logits({2, 2}, {0, 10, 5, 5});
  const Tensor q = Logits({2, 2}, {0, 10, 5, 4.5F});
  QualityMeter meter(Classes());
  ASSERT_EQ(meter.Add({&p, 1}, {&q, 1}, {}), std::nullopt);
  EXPECT_DOUBLE_EQ(meter.LargestError(), 0.05);
  EXPECT_FALSE(meter.Constant());
}

TEST(QualityMeter, TakesTheSizeOfANumberThatHasNoRange) {
  // One output of one sample: the last bit of a sum is no other computation.
  const Tensor p = Logits({1, 1}, {2});
  const Tensor q = Logits({1, 1}, {2.0000002F});
  QualityMeter meter(Classes());
  ASSERT_EQ(meter.Add({&p, 1}, {&q, 1}, {}), std::nullopt);
  EXPECT_NEAR(meter.LargestError(), 1.2e-7, 1e-8);
}

TEST(QualityMeter, MistrustsAnOutputThatNeverChanges) {
  const Tensor p = Logits({2, 2}, {0, 10, 5, 5});
  const Tensor q = Logits({2, 2}, {0, 0, 0, 0});
  QualityMeter meter(Classes());
  ASSERT_EQ(meter.Add({&p, 1}, {&q, 1}, {}), std::nullopt);
  EXPECT_TRUE(meter.Constant());
}

}  // namespace
}  // namespace msc::cost
