#include "cost/quality/distances.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"

namespace msc::cost {
namespace {

using Numbers = std::vector<double>;
using Classes = std::vector<std::int32_t>;

TEST(Distances, OfProbabilitiesAreTheDivergenceOfTheirLogits) {
  Rng rng(1);
  for (int i = 0; i < 20; ++i) {
    Numbers p;
    Numbers q;
    Numbers softmax_p;
    Numbers softmax_q;
    double sum_p = 0;
    double sum_q = 0;
    for (int c = 0; c < 5; ++c) {
      p.push_back(rng.Normal());
      q.push_back(rng.Normal());
      sum_p += std::exp(p.back());
      sum_q += std::exp(q.back());
    }
    for (int c = 0; c < 5; ++c) {
      softmax_p.push_back(std::exp(p[static_cast<std::size_t>(c)]) / sum_p);
      softmax_q.push_back(std::exp(q[static_cast<std::size_t>(c)]) / sum_q);
    }
    EXPECT_NEAR(ProbabilitiesDivergence(softmax_p, softmax_q), LogitsDivergence(p, q), 1e-12);
  }
}

TEST(Distances, OfAProbabilityOfZeroAreFinite) {
  EXPECT_NEAR(ProbabilitiesDivergence(Numbers{0.5, 0.5}, Numbers{1, 0}),
              0.5 * std::log(0.5) + 0.5 * std::log(0.5 / kLeastProbability), 1e-6);
  EXPECT_TRUE(std::isfinite(BinaryDivergence(1, 0)));
}

TEST(Distances, OfTwoClassesAreThoseOfASigmoid) {
  // softmax(x, 0) = (sigmoid(x), 1 - sigmoid(x))
  for (const double p : {-800.0, -2.0, 0.0, 3.0}) {
    for (const double q : {-1.0, 0.5, 40.0}) {
      const double wanted = LogitsDivergence(Numbers{p, 0}, Numbers{q, 0});
      EXPECT_NEAR(LogitDivergence(p, q), wanted, 1e-12 * (1 + wanted)) << p << " " << q;
    }
  }
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_NEAR(BinaryDivergence(sigmoid(0.3), sigmoid(-1.2)), LogitDivergence(0.3, -1.2), 1e-12);
}

TEST(Distances, OfDirectionsDoNotSeeLengths) {
  EXPECT_NEAR(CosineDistance(Numbers{1, 0}, Numbers{5, 0}), 0, 1e-15);
  EXPECT_NEAR(CosineDistance(Numbers{1, 0}, Numbers{0, 2}), 1, 1e-15);
  EXPECT_NEAR(CosineDistance(Numbers{1, 1}, Numbers{-3, -3}), 2, 1e-15);
  EXPECT_EQ(CosineDistance(Numbers{0, 0}, Numbers{0, 0}), 0);
  EXPECT_EQ(CosineDistance(Numbers{0, 0}, Numbers{1, 0}), 1);
}

TEST(MeanIou, CountsEachClassThatOccursOnce) {
  // Class 0: 2 of 3 positions; class 1: 1 of 2; class 2 occurs nowhere.
  EXPECT_NEAR(MeanIou(Classes{0, 0, 0, 1}, Classes{0, 0, 1, 1}), (2.0 / 3 + 1.0 / 2) / 2, 1e-15);
  EXPECT_EQ(MeanIou(Classes{3, 3}, Classes{3, 3}), 1);
  EXPECT_EQ(MeanIou(Classes{0, 0}, Classes{1, 1}), 0);
  EXPECT_EQ(MeanIou(Classes{}, Classes{}), 1);
}

TEST(Ctc, ReadsClassesWithoutRepetitionsAndBlanks) {
  EXPECT_EQ(DecodeCtc(Classes{0, 1, 1, 0, 1, 2, 2, 0}, 0), (Classes{1, 1, 2}));
  EXPECT_EQ(DecodeCtc(Classes{0, 0}, 0), Classes{});
  EXPECT_EQ(DecodeCtc(Classes{4, 4, 5}, 9), (Classes{4, 5}));
}

/// The definition, without a table.
std::int64_t Edits(const Classes& p, const Classes& q) {
  if (p.empty() || q.empty()) return std::ssize(p) + std::ssize(q);
  const Classes rest_p(p.begin() + 1, p.end());
  const Classes rest_q(q.begin() + 1, q.end());
  const std::int64_t replaced = Edits(rest_p, rest_q) + (p[0] == q[0] ? 0 : 1);
  return std::min({replaced, Edits(rest_p, q) + 1, Edits(p, rest_q) + 1});
}

TEST(EditDistance, EqualsTheDefinition) {
  Rng rng(2);
  for (int i = 0; i < 50; ++i) {
    const auto random = [&] {
      Classes classes(rng.Below(6));
      for (std::int32_t& c : classes) c = static_cast<std::int32_t>(rng.Below(3));
      return classes;
    };
    const Classes p = random();
    const Classes q = random();
    EXPECT_EQ(EditDistance(p, q), Edits(p, q));
  }
}

}  // namespace
}  // namespace msc::cost
