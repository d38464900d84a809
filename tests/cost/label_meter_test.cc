#include "cost/quality/label_meter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "cost/quality/quality.h"
#include "tests/support/error_of.h"
#include "tests/support/labels.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kSamples = 17;

Tensor Random(Dims dims, std::uint64_t seed) {
  Rng rng(seed);
  Tensor tensor(DType::kF32, std::move(dims));
  for (float& value : tensor.MutableValues<float>()) value = static_cast<float>(rng.Normal());
  return tensor;
}

/// The score of one sample: its numbers and labels.
using ScoreOf = std::function<double(const std::vector<double>& sample, std::int64_t number)>;

std::vector<double> SampleOf(const Tensor& output, std::int64_t sample) {
  const std::int64_t size = output.size() / output.dims()[0];
  const auto values = output.Values<float>().subspan(static_cast<std::size_t>(sample * size),
                                                     static_cast<std::size_t>(size));
  return {values.begin(), values.end()};
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double ErrorOfMean(const std::vector<double>& values) {
  double variance = 0;
  const double mean = Mean(values);
  for (const double value : values) variance += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return std::sqrt(variance / (count - 1) / count);
}

/// Compares in two batches.
Quality Compared(const OutputForm& form, const Tensor& p, const Tensor& q,
                 const OutputLabels& labels) {
  QualityMeter meter({{"y", form}});
  const std::vector<OutputLabels> all = {labels};
  const auto add = [&](std::int64_t first, std::int64_t count) {
    const auto part = [&](const Tensor& tensor) {
      Dims dims = tensor.dims();
      const std::int64_t size = tensor.size() / dims[0];
      dims[0] = count;
      return Tensor::From<float>(
          DType::kF32, dims,
          tensor.Values<float>().subspan(static_cast<std::size_t>(first * size),
                                         static_cast<std::size_t>(count * size)));
    };
    const Tensor a = part(p);
    const Tensor b = part(q);
    ASSERT_EQ(meter.Add({&a, 1}, {&b, 1}, {.labels = all, .first = first}), std::nullopt);
  };
  add(0, 5);
  add(5, kSamples - 5);
  return meter.Total();
}

/// Expects a score that is a mean over samples, in percent; `sign` is -1 where more is better.
void ExpectScore(const Quality& quality, const std::string& loss, const Tensor& p, const Tensor& q,
                 double sign, const ScoreOf& score_of) {
  std::vector<double> before;
  std::vector<double> after;
  std::vector<double> lost;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    before.push_back(100 * score_of(SampleOf(p, i), i));
    after.push_back(100 * score_of(SampleOf(q, i), i));
    lost.push_back(sign * (after.back() - before.back()));
  }
  const LabelScore* score = quality.Score(loss);
  ASSERT_NE(score, nullptr);
  EXPECT_NEAR(score->reference, Mean(before), 1e-9);
  EXPECT_NEAR(score->value, Mean(after), 1e-9);
  EXPECT_NE(score->value, score->reference);
  EXPECT_NEAR(quality.Loss(loss)->value, Mean(lost), 1e-9);
  EXPECT_NEAR(quality.Loss(loss)->error, ErrorOfMean(lost), 1e-9);
  EXPECT_EQ(quality.Loss(loss), quality.Loss(loss + ":y"));
}

/// The class of each position of [classes, positions].
std::vector<std::int64_t> Largest(const std::vector<double>& sample, std::size_t classes) {
  const std::size_t positions = sample.size() / classes;
  std::vector<std::int64_t> best(positions);
  for (std::size_t at = 0; at < positions; ++at) {
    for (std::size_t c = 1; c < classes; ++c) {
      if (sample[c * positions + at] > sample[static_cast<std::size_t>(best[at]) * positions + at])
        best[at] = static_cast<std::int64_t>(c);
    }
  }
  return best;
}

std::vector<std::vector<float>> RandomLabels(std::size_t each, std::uint64_t classes,
                                             std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::vector<float>> labels(kSamples, std::vector<float>(each));
  for (auto& sample : labels) {
    for (float& label : sample) label = static_cast<float>(rng.Below(classes));
  }
  return labels;
}

TEST(LabelMeter, CountsTheRightClassesOfASequence) {
  const Tensor p = Random({kSamples, 4, 6}, 1);
  const Tensor q = Random({kSamples, 4, 6}, 2);
  auto labels = RandomLabels(6, 4, 3);
  labels[2][1] = -1;  // not labelled
  const Quality quality = Compared({.kind = OutputKind::kLogits, .axis = 1}, p, q,
                                   LabelsOf("y", LabelKind::kClasses, labels));
  ExpectScore(quality, "accuracy_drop", p, q, -1, [&](const auto& sample, std::int64_t i) {
    const std::vector<std::int64_t> classes = Largest(sample, 4);
    double right = 0;
    double all = 0;
    for (std::size_t at = 0; at < 6; ++at) {
      const float label = labels[static_cast<std::size_t>(i)][at];
      if (label < 0) continue;
      all += 1;
      right += label == static_cast<float>(classes[at]) ? 1 : 0;
    }
    return right / all;
  });
  EXPECT_NEAR(*quality.accuracy, quality.Score("accuracy_drop")->value / 100, 1e-15);
}

TEST(LabelMeter, TakesTheMeanIouOfMaps) {
  const Tensor p = Random({kSamples, 3, 4, 5}, 4);
  const Tensor q = Random({kSamples, 3, 4, 5}, 5);
  auto labels = RandomLabels(20, 3, 6);
  for (auto& sample : labels) sample[7] = -1;
  const Quality quality = Compared({.kind = OutputKind::kLogits, .axis = 1}, p, q,
                                   LabelsOf("y", LabelKind::kMaps, labels));
  ExpectScore(quality, "iou_drop", p, q, -1, [&](const auto& sample, std::int64_t i) {
    const std::vector<std::int64_t> classes = Largest(sample, 3);
    const std::vector<float>& truth = labels[static_cast<std::size_t>(i)];
    double sum = 0;
    double present = 0;
    for (int c = 0; c < 3; ++c) {
      double both = 0;
      double either = 0;
      for (std::size_t at = 0; at < 20; ++at) {
        if (truth[at] < 0) continue;
        const bool a = truth[at] == static_cast<float>(c);
        const bool b = classes[at] == c;
        both += a && b ? 1 : 0;
        either += a || b ? 1 : 0;
      }
      if (either == 0) continue;
      sum += both / either;
      present += 1;
    }
    return sum / present;
  });
  EXPECT_FALSE(quality.accuracy.has_value());
}

TEST(LabelMeter, TakesMapsOfLargeIntegersInLittleMemory) {
  const std::vector<std::int32_t> numbers(2 * 2 * kSamples, 2'000'000'000);
  const Tensor p = Tensor::From<std::int32_t>(DType::kI32, {kSamples, 2, 2}, numbers);
  QualityMeter meter({{"y", {.kind = OutputKind::kIntegers}}});
  const std::vector<OutputLabels> all = {LabelsOf(
      "y", LabelKind::kMaps, std::vector<std::vector<float>>(kSamples, {1, 1, 1, 16'000'000}))};
  ASSERT_EQ(meter.Add({&p, 1}, {&p, 1}, {.labels = all}), std::nullopt);
  EXPECT_EQ(meter.Total().Score("iou_drop")->value, 0);
}

TEST(LabelMeter, DividesErrorsByTheDeviationOfEachColumn) {
  const Tensor p = Random({kSamples, 2}, 7);
  const Tensor q = Random({kSamples, 2}, 8);
  Rng rng(9);
  std::vector<std::vector<float>> labels;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    labels.push_back({static_cast<float>(5 * rng.Normal()), static_cast<float>(rng.Normal())});
  }
  const Quality quality =
      Compared({.kind = OutputKind::kRegression}, p, q, LabelsOf("y", LabelKind::kValues, labels));
  std::vector<double> variance;
  for (std::size_t c = 0; c < 2; ++c) {
    std::vector<double> column;
    for (const auto& sample : labels) column.push_back(sample[c]);
    const double mean = Mean(column);
    for (double& value : column) value = (value - mean) * (value - mean);
    variance.push_back(Mean(column));
  }
  const auto squares_of = [&](const Tensor& output) {
    std::vector<double> squares;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < 2; ++c) {
        const double error =
            SampleOf(output, i)[c] - static_cast<double>(labels[static_cast<std::size_t>(i)][c]);
        sum += error * error / variance[c] / 2;
      }
      squares.push_back(sum);
    }
    return squares;
  };
  const std::vector<double> before = squares_of(p);
  const std::vector<double> after = squares_of(q);
  const LabelScore* score = quality.Score("relative_error_rise");
  ASSERT_NE(score, nullptr);
  EXPECT_NEAR(score->reference, std::sqrt(Mean(before)), 1e-9);
  EXPECT_NEAR(score->value, std::sqrt(Mean(after)), 1e-9);
  const Estimate rise = *quality.Loss("relative_error_rise");
  EXPECT_NEAR(rise.value, score->value - score->reference, 1e-12);
  // The jackknife, which knows nothing of derivatives, agrees within a few percent.
  std::vector<double> without;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const auto root_without = [&](std::vector<double> squares) {
      squares.erase(squares.begin() + static_cast<std::ptrdiff_t>(i));
      return std::sqrt(Mean(squares));
    };
    without.push_back(root_without(after) - root_without(before));
  }
  EXPECT_NEAR(rise.error / ((kSamples - 1) * ErrorOfMean(without)), 1, 0.1);
}

/// Edits by the definition, over all ways.
std::size_t Edits(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                  std::size_t i = 0, std::size_t j = 0) {
  if (i == a.size()) return b.size() - j;
  if (j == b.size()) return a.size() - i;
  return std::min({Edits(a, b, i + 1, j + 1) + (a[i] == b[j] ? 0 : 1), Edits(a, b, i + 1, j) + 1,
                   Edits(a, b, i, j + 1) + 1});
}

TEST(LabelMeter, CountsEditsAndExactSequences) {
  const Tensor p = Random({kSamples, 3, 5}, 10);  // [N, classes, steps]
  Tensor q = Random({kSamples, 3, 5}, 11);
  std::copy_n(p.Values<float>().begin(), 5 * 15, q.MutableValues<float>().begin());
  const auto read = [](const std::vector<double>& sample) {
    std::vector<std::int64_t> sequence;
    std::int64_t last = -1;
    for (const std::int64_t number : Largest(sample, 3)) {
      if (number != last && number != 0) sequence.push_back(number);
      last = number;
    }
    return sequence;
  };
  std::vector<std::vector<float>> labels;
  std::vector<std::vector<std::int64_t>> truths;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    truths.push_back(i % 3 == 0 ? read(SampleOf(p, i)) : std::vector<std::int64_t>{1, 2, 1});
    labels.emplace_back(truths.back().begin(), truths.back().end());
    labels.back().push_back(-1);  // filled up
  }
  const Quality quality = Compared({.kind = OutputKind::kCtc, .axis = 1, .logits = true}, p, q,
                                   LabelsOf("y", LabelKind::kSequences, labels));
  const auto truth_of = [&](std::int64_t i) { return truths[static_cast<std::size_t>(i)]; };
  ExpectScore(quality, "edit_distance_rise", p, q, 1, [&](const auto& sample, std::int64_t i) {
    return static_cast<double>(Edits(truth_of(i), read(sample))) /
           static_cast<double>(std::max<std::size_t>(truth_of(i).size(), 1));
  });
  ExpectScore(quality, "accuracy_drop", p, q, -1, [&](const auto& sample, std::int64_t i) {
    return read(sample) == truth_of(i) ? 1.0 : 0.0;
  });
}

TEST(LabelMeter, MatchesBoxes) {
  // Two candidates a sample: x0, y0, x1, y1 and one score; unit squares far apart.
  Tensor p(DType::kF32, {kSamples, 2, 5});
  Tensor q(DType::kF32, {kSamples, 2, 5});
  std::vector<std::vector<float>> labels;
  std::vector<double> before;
  std::vector<double> after;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const auto box = [&](Tensor& to, std::int64_t at, float x, float score) {
      const auto values =
          to.MutableValues<float>().subspan(static_cast<std::size_t>((i * 2 + at) * 5), 5);
      values[0] = x;
      values[2] = x + 10;
      values[3] = 10;
      values[4] = score;
    };
    const bool second = i % 2 == 0;
    box(p, 0, 0, 0.9F);
    box(p, 1, 50, second ? 0.8F : 0.1F);
    box(q, 0, i % 3 == 0 ? 7.0F : 1.0F, 0.9F);  // an IoU of 3/17 or 9/11
    box(q, 1, 50, 0.8F);
    labels.push_back({0, 0, 10, 10, 0});
    if (second) labels.back().insert(labels.back().end(), {50, 0, 60, 10, 0});
    before.push_back(1);
    const double hits = (i % 3 == 0 ? 0 : 1) + (second ? 1 : 0);
    after.push_back(2 * hits / (2 + (second ? 2 : 1)));
  }
  const Quality quality = Compared({.kind = OutputKind::kBoxes, .axis = 2, .corners = true}, p, q,
                                   LabelsOf("y", LabelKind::kBoxes, labels));
  EXPECT_NEAR(quality.Score("f1_drop")->reference, 100, 1e-12);
  EXPECT_NEAR(quality.Score("f1_drop")->value, 100 * Mean(after), 1e-9);
  EXPECT_NEAR(quality.Loss("f1_drop")->value, 100 * (1 - Mean(after)), 1e-9);
}

TEST(LabelMeter, SaysNothingWhereNothingIsLabelled) {
  const Tensor p = Random({kSamples, 3, 4, 5}, 4);
  const Quality quality =
      Compared({.kind = OutputKind::kLogits, .axis = 1}, p, p,
               LabelsOf("y", LabelKind::kMaps,
                        std::vector<std::vector<float>>(kSamples, std::vector<float>(20, -1))));
  EXPECT_EQ(quality.Score("iou_drop"), nullptr);
  EXPECT_FALSE(quality.Loss("iou_drop").has_value());
  EXPECT_FALSE(quality.Losses().contains("accuracy_drop"));
}

TEST(LabelMeter, RefusesAMapOfAnotherSize) {
  const Tensor p = Random({kSamples, 3, 4, 5}, 4);
  EXPECT_EQ(ErrorOf([&] {
              (void)Compared({.kind = OutputKind::kLogits, .axis = 1}, p, p,
                             LabelsOf("y", LabelKind::kMaps,
                                      std::vector<std::vector<float>>(kSamples, {1, 2})));
            }),
            "a sample has 2 labels for the 20 decisions or numbers of its output");
}

TEST(QualityMeter, HasTheAccuracyOfTheOutputThatLostMost) {
  const std::vector<Tensor> p = {Random({6, 3}, 1), Random({6, 5}, 2)};
  const std::vector<Tensor> q = {Random({6, 3}, 3), Random({6, 5}, 4)};
  std::vector<OutputLabels> labels = {LabelsOf("a", LabelKind::kClasses, {}),
                                      LabelsOf("b", LabelKind::kClasses, {})};
  // The first output of the candidate is always right, the second one of the reference.
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto right = [&](const Tensor& output) {
      const std::vector<double> sample = SampleOf(output, i);
      return static_cast<float>(std::ranges::max_element(sample) - sample.begin());
    };
    const float first = right(q[0]);
    const float second = right(p[1]);
    labels[0].numbers.Append({&first, 1});
    labels[1].numbers.Append({&second, 1});
  }
  QualityMeter meter({{"a", {.kind = OutputKind::kLogits}}, {"b", {.kind = OutputKind::kLogits}}});
  ASSERT_EQ(meter.Add(p, q, {.labels = labels}), std::nullopt);
  const Quality quality = meter.Total();
  EXPECT_EQ(quality.reference_accuracy, 1.0);
  EXPECT_EQ(quality.Score("accuracy_drop:a")->value, 100);
  EXPECT_LE(quality.Loss("accuracy_drop:a")->value, 0);
  EXPECT_GT(quality.Loss("accuracy_drop:b")->value, 0);
  EXPECT_EQ(quality.Loss("accuracy_drop"), quality.Loss("accuracy_drop:b"));
}

}  // namespace
}  // namespace msc::cost
