#include "cost/quality/output_meter.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "cost/quality/distances.h"

namespace msc::cost {
namespace {

using Numbers = std::vector<double>;

OutputQuality Compare(const OutputForm& form, const Dims& dims, const Numbers& p,
                      const Numbers& q) {
  OutputMeter meter({"y", form}, dims);
  meter.Add(p, q, dims[0]);
  return meter.Total();
}

double Loss(const OutputQuality& quality, const std::string& name) {
  const auto found = quality.losses.find(name);
  return found == quality.losses.end() ? std::nan("") : found->second.value;
}

Numbers Random(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  Numbers numbers(count);
  for (double& number : numbers) number = rng.Normal();
  return numbers;
}

std::vector<std::string> NamesOf(const OutputQuality& quality) {
  std::vector<std::string> names;
  for (const auto& [name, loss] : quality.losses) names.push_back(name);
  return names;
}

TEST(OutputMeter, ReadsClassesAlongAnyAxis) {
  // [2, 3, 2, 2]: classes along axis 1. As rows along the last axis the same numbers are other
  // rows.
  const Dims dims = {2, 3, 2, 2};
  const Numbers p = Random(24, 1);
  const Numbers q = Random(24, 2);
  double divergence = 0;
  double changed = 0;
  for (std::size_t sample = 0; sample < 2; ++sample) {
    for (std::size_t place = 0; place < 4; ++place) {
      Numbers row_p;
      Numbers row_q;
      for (std::size_t c = 0; c < 3; ++c) {
        row_p.push_back(p[sample * 12 + c * 4 + place]);
        row_q.push_back(q[sample * 12 + c * 4 + place]);
      }
      divergence += LogitsDivergence(row_p, row_q) / 8;
      changed += ArgMax(row_p) == ArgMax(row_q) ? 0 : 100.0 / 8;
    }
  }
  const OutputQuality quality = Compare({.kind = OutputKind::kLogits, .axis = 1}, dims, p, q);
  EXPECT_NEAR(Loss(quality, "distill_loss"), divergence, 1e-12);
  EXPECT_NEAR(Loss(quality, "disagreement"), changed, 1e-12);
  EXPECT_EQ(NamesOf(quality), (std::vector<std::string>{"disagreement", "distill_loss", "iou_loss",
                                                        "relative_error"}));
}

TEST(OutputMeter, TakesProbabilitiesAsTheyAre) {
  const Numbers p = {0.7, 0.3};
  const Numbers q = {0.4, 0.6};
  const OutputQuality quality = Compare({.kind = OutputKind::kProbabilities}, {1, 2}, p, q);
  EXPECT_NEAR(Loss(quality, "distill_loss"), 0.7 * std::log(0.7 / 0.4) + 0.3 * std::log(0.3 / 0.6),
              1e-12);
  EXPECT_EQ(Loss(quality, "disagreement"), 100);
}

TEST(OutputMeter, SeesOneLogitChangeItsSign) {
  const OutputQuality quality =
      Compare({.kind = OutputKind::kLogit}, {4, 1}, {1, -1, 2, -2}, {1, 1, 2, -2});
  EXPECT_EQ(Loss(quality, "disagreement"), 25);
  EXPECT_NEAR(Loss(quality, "distill_loss"), LogitDivergence(-1, 1) / 4, 1e-12);
}

TEST(OutputMeter, JudgesAMapOfProbabilitiesByItsIntersection) {
  // One of four positions is found, and one beside it.
  const OutputQuality quality = Compare({.kind = OutputKind::kBinary}, {1, 1, 2, 2},
                                        {0.9, 0.1, 0.1, 0.1}, {0.9, 0.8, 0.1, 0.1});
  EXPECT_EQ(Loss(quality, "disagreement"), 25);
  EXPECT_NEAR(Loss(quality, "iou_loss"), 100 * (1 - (1.0 / 2 + 2.0 / 3) / 2), 1e-12);
}

TEST(OutputMeter, JudgesNumbersByTheirOwnDeviation) {
  const Numbers p = {1, 2, 3, 4};  // variance 1.25
  const Numbers q = {1.5, 2, 3, 3};
  for (const Dims& dims : {Dims{4}, Dims{4, 1}}) {
    const OutputQuality quality = Compare({.kind = OutputKind::kRegression}, dims, p, q);
    const double square = (0.25 + 1) / 4 / 1.25;
    EXPECT_NEAR(Loss(quality, "relative_error"), std::sqrt(square), 1e-12);
    EXPECT_NEAR(Loss(quality, "distill_loss"), square / 2, 1e-12);
    EXPECT_EQ(NamesOf(quality), (std::vector<std::string>{"distill_loss", "relative_error"}));
  }
}

TEST(OutputMeter, GivesEachColumnOfNumbersItsOwnDeviation) {
  // The first column varies by 1, the second by 1000: an error of 1 in the first is as large as it
  // can be, and would not be seen beside the second.
  const Numbers p = {0, 1000, 1, 3000, 0, 1000, 1, 3000};
  const Numbers q = {1, 1000, 0, 3000, 1, 1000, 0, 3000};
  const OutputQuality quality = Compare({.kind = OutputKind::kRegression}, {4, 2}, p, q);
  // Variance of the first column 0.25; the least that counts is 1e-4 of that of all numbers.
  double mean = 0;
  for (const double x : p) mean += x / 8;
  double all = 0;
  for (const double x : p) all += (x - mean) * (x - mean) / 8;
  EXPECT_NEAR(Loss(quality, "relative_error"), std::sqrt(1 / (1e-4 * all) / 2), 1e-12);
}

TEST(OutputMeter, GivesColumnsOfASingleRowTheDeviationOfAll) {
  const OutputQuality quality =
      Compare({.kind = OutputKind::kRegression}, {1, 4}, {1, 2, 3, 4}, {1.5, 2, 3, 4});
  EXPECT_NEAR(Loss(quality, "relative_error"), std::sqrt(0.25 / 4 / 1.25), 1e-12);
}

TEST(OutputMeter, TakesEmbeddingsInFrontOfAxesOfOneEntry) {
  const Numbers p = Random(12, 1);
  const Numbers q = Random(12, 2);
  const OutputForm form{.kind = OutputKind::kEmbedding};
  const OutputQuality quality = Compare(form, {3, 4}, p, q);
  EXPECT_EQ(Compare(form, {3, 4, 1, 1}, p, q).losses, quality.losses);
}

TEST(OutputMeter, EstimatesTheErrorOfARelativeError) {
  // Independent errors of size 0.1: the standard error of the root is about 0.1 / sqrt(2 n).
  const std::size_t n = 5000;
  const Numbers p = Random(n, 3);
  Numbers q = Random(n, 4);
  for (std::size_t i = 0; i < n; ++i) q[i] = p[i] + 0.1 * q[i];
  const OutputQuality quality =
      Compare({.kind = OutputKind::kRegression}, {static_cast<std::int64_t>(n)}, p, q);
  const Estimate error = quality.losses.at("relative_error");
  EXPECT_NEAR(error.value, 0.1, 0.005);
  EXPECT_NEAR(error.error, 0.1 / std::sqrt(2.0 * n), 0.0002);
}

TEST(OutputMeter, JudgesEmbeddingsByDirectionAndByTheNearestOther) {
  // Three vectors: the first and the second are close. The candidate turns the second away.
  const Numbers p = {1, 0, 1, 0.1, 0, 1};
  const Numbers q = {2, 0, 0.1, 1, 0, 1};
  const OutputQuality quality = Compare({.kind = OutputKind::kEmbedding}, {3, 2}, p, q);
  const double turned = CosineDistance(Numbers{1, 0.1}, Numbers{0.1, 1});
  EXPECT_NEAR(Loss(quality, "cosine_distance"), turned / 3, 1e-12);
  // The second's nearest becomes the third, the third's stays the second, the first's stays.
  EXPECT_NEAR(Loss(quality, "disagreement"), 100.0 / 3, 1e-12);
}

TEST(OutputMeter, DecodesSequences) {
  const auto rows = [](const std::vector<int>& classes) {
    Numbers numbers;
    for (const int c : classes) {
      for (int i = 0; i < 3; ++i) numbers.push_back(i == c ? 0.8 : 0.1);
    }
    return numbers;
  };
  // Blank 0. Reads "1 2" and "1"; the candidate reads "1 2" and "1 1".
  const Numbers p = rows({1, 1, 0, 2, 0, 1, 0, 0});
  const Numbers q = rows({1, 0, 0, 2, 0, 1, 0, 1});
  const OutputQuality quality = Compare({.kind = OutputKind::kCtc, .axis = 2}, {2, 4, 3}, p, q);
  EXPECT_EQ(Loss(quality, "disagreement"), 50);
  EXPECT_EQ(Loss(quality, "edit_distance"), 50) << "one edit of one, and none of two";
}

TEST(OutputMeter, MatchesBoxes) {
  const Numbers p = {5, 5, 10, 10, 0.9, 50, 5, 10, 10, 0.8};
  const Numbers q = {5.5, 5, 10, 10, 0.9, 50, 5, 10, 10, 0.1};
  const OutputQuality quality = Compare({.kind = OutputKind::kBoxes, .axis = 2}, {1, 2, 5}, p, q);
  EXPECT_NEAR(Loss(quality, "box_loss"), 100 * (1 - 2.0 / 3), 1e-12) << "one of two is found";
  EXPECT_EQ(Loss(quality, "box_loss"), Loss(quality, "disagreement"));
}

TEST(OutputMeter, CountsIntegersThatChange) {
  const OutputQuality quality =
      Compare({.kind = OutputKind::kIntegers}, {2, 2}, {1, 5, 2, 2}, {1, 5, 3, 2});
  EXPECT_EQ(Loss(quality, "disagreement"), 25);
  EXPECT_EQ(NamesOf(quality), std::vector<std::string>{"disagreement"});
}

TEST(OutputMeter, RejectsAFormThatDoesNotFit) {
  const auto error_of = [](const OutputForm& form, const Dims& dims) {
    try {
      const OutputMeter meter({"y", form}, dims);
      return std::string();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(error_of({.kind = OutputKind::kLogits, .axis = 0}, {4, 2}),
            "output 'y', [4,2], has no axis 0 beside that of samples");
  EXPECT_EQ(error_of({.kind = OutputKind::kLogits}, {4}),
            "output 'y', [4], has no axis -1 beside that of samples");
  EXPECT_EQ(error_of({.kind = OutputKind::kBoxes}, {1, 10, 3}),
            "output 'y', [1,10,3], has no boxes along axis -1");
  EXPECT_EQ(error_of({.kind = OutputKind::kRegression}, {}), "output 'y' has no axis of samples");
}

}  // namespace
}  // namespace msc::cost
