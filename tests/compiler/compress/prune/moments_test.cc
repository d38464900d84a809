// Sums of products, the inverse's factor and eliminations, against plain loops in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>
#include <gtest/gtest.h>

#include "compiler/compress/prune/inverse_factor.h"
#include "compiler/compress/prune/least_squares.h"
#include "compiler/compress/prune/outer_products.h"

namespace msc {
namespace {

std::vector<float> Draw(std::mt19937_64& random, std::int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

Eigen::MatrixXd DrawMatrix(std::mt19937_64& random, Eigen::Index rows, Eigen::Index columns) {
  const std::vector<float> values = Draw(random, rows * columns);
  return Eigen::Map<const Eigen::MatrixXf>(values.data(), rows, columns).cast<double>();
}

double Product(const std::vector<float>& a, std::int64_t a_stride, std::int64_t i,
               const std::vector<float>& b, std::int64_t b_stride, std::int64_t j,
               std::int64_t rows) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    sum += static_cast<double>(a[static_cast<std::size_t>(r * a_stride + i)]) *
           b[static_cast<std::size_t>(r * b_stride + j)];
  }
  return sum;
}

TEST(AddProducts, AddsTheProductsOfAllColumns) {
  std::mt19937_64 random(1);
  for (const std::int64_t rows : {0, 1, 5, 64}) {
    for (const std::int64_t columns : {1, 7, 8, 9, 30}) {
      for (const std::int64_t others : {1, 8, 13}) {
        const std::vector<float> a = Draw(random, rows * (columns + 3));
        const std::vector<float> b = Draw(random, rows * (others + 1));
        std::vector<double> sums(static_cast<std::size_t>(columns * others), 0.5);
        AddProducts(Panels(a.data(), rows, columns, columns + 3),
                    Panels(b.data(), rows, others, others + 1), false, 2, sums.data());
        for (std::int64_t j = 0; j < others; ++j) {
          for (std::int64_t i = 0; i < columns; ++i) {
            EXPECT_NEAR(sums[static_cast<std::size_t>(j * columns + i)],
                        0.5 + Product(a, columns + 3, i, b, others + 1, j, rows), 1e-12)
                << rows << " rows, " << columns << " by " << others;
          }
        }
      }
    }
  }
}

TEST(AddProducts, OfALowerTriangleAreThoseOfTheWholeForAnyNumberOfThreads) {
  std::mt19937_64 random(2);
  constexpr std::int64_t kRows = 20;
  constexpr std::int64_t kColumns = 801;  // enough work for threads
  const std::vector<float> values = Draw(random, kRows * kColumns);
  const Panels panels(values.data(), kRows, kColumns, kColumns);
  std::vector<double> whole(kColumns * kColumns, 0);
  std::vector<double> lower = whole;
  AddProducts(panels, panels, false, 1, whole.data());
  AddProducts(panels, panels, true, 4, lower.data());
  for (std::size_t j = 0; j < kColumns; ++j) {
    for (std::size_t i = j; i < kColumns; ++i) {
      ASSERT_EQ(lower[j * kColumns + i], whole[j * kColumns + i]) << i << ", " << j;
    }
  }
}

// Few rows are kept, more are summed some at a time; calls decide nothing.
TEST(LinearMoments, AreThoseOfAllRowsHoweverTheyCome) {
  std::mt19937_64 random(5);
  constexpr std::int64_t kInputs = 40;
  constexpr std::int64_t kOutputs = 3;
  for (const std::int64_t rows : {2, 39, 40, 41, 255, 256, 257, 1000}) {
    const std::vector<float> x = Draw(random, rows * kInputs);
    const std::vector<float> y = Draw(random, rows * kOutputs);
    const std::vector<float> weights = Draw(random, kOutputs * kInputs);
    const std::vector<float> bias(kOutputs, 0.5F);
    LinearMoments whole(kInputs, kOutputs);
    whole.Add(rows, x.data(), kInputs, y.data(), kOutputs);
    const LinearMoments::Fit wanted = whole.Solve(weights, bias, true, 0.01);
    for (const std::int64_t at_once : {1, 16, 300}) {
      LinearMoments parts(kInputs, kOutputs);
      for (std::int64_t first = 0; first < rows; first += at_once) {
        parts.Add(std::min(at_once, rows - first), x.data() + first * kInputs, kInputs,
                  y.data() + first * kOutputs, kOutputs);
      }
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(at_once) + " at once");
      EXPECT_EQ(parts.count(), rows);
      const LinearMoments::Fit fit = parts.Solve(weights, bias, true, 0.01);
      for (std::size_t i = 0; i < fit.weights.size(); ++i) {
        ASSERT_NEAR(fit.weights[i], wanted.weights[i], 1e-5);
      }
      EXPECT_NEAR(parts.Error(weights, bias), whole.Error(weights, bias), 1e-6);
      const std::vector<double> gram = whole.Gram(LinearMoments::About::kMean);
      const std::vector<double> summed = parts.Gram(LinearMoments::About::kMean);
      for (std::size_t i = 0; i < gram.size(); ++i) ASSERT_NEAR(summed[i], gram[i], 1e-9);
    }
  }
}

TEST(InverseFactor, IsALowerFactorOfTheDampedInverseInTheGivenOrder) {
  std::mt19937_64 random(3);
  for (const Eigen::Index inputs : {1, 2, 9, 40}) {
    const std::vector<float> drawn = Draw(random, 60 * inputs);
    const Eigen::MatrixXd x =
        Eigen::Map<const Eigen::MatrixXf>(drawn.data(), 60, inputs).cast<double>();
    const Eigen::MatrixXd gram = x.transpose() * x / 60;
    std::vector<Eigen::Index> order(static_cast<std::size_t>(inputs));
    std::iota(order.rbegin(), order.rend(), 0);
    const Eigen::MatrixXd factor = InverseFactor(gram, order);
    Eigen::MatrixXd damped = gram(order, order);
    damped.diagonal().array() += 0.01 * gram.trace() / static_cast<double>(inputs);
    EXPECT_TRUE(factor.isLowerTriangular());
    EXPECT_TRUE((factor * factor.transpose() * damped).isIdentity(1e-9)) << inputs;
  }
}

TEST(InverseFactor, IsNotFiniteWithoutAnInverse) {
  const Eigen::MatrixXd gram{{1, 0}, {0, -5}};
  EXPECT_FALSE(InverseFactor(gram, {0, 1}).allFinite());
}

TEST(QuadraticForms, AreThoseOfPlainProductsForAnyNumberOfThreads) {
  std::mt19937_64 random(7);
  for (const Eigen::Index n : {1, 9, 270}) {
    const Eigen::MatrixXd x = DrawMatrix(random, n, n);
    const Eigen::MatrixXd moments = x * x.transpose() / static_cast<double>(n);
    const Eigen::MatrixXd rows = DrawMatrix(random, 260, n);
    const Eigen::VectorXd wanted = (rows * moments).cwiseProduct(rows).rowwise().sum();
    const std::vector<double> forms = QuadraticForms(rows.data(), 260, moments.data(), n, 1);
    for (Eigen::Index r = 0; r < 260; ++r) {
      ASSERT_NEAR(forms[static_cast<std::size_t>(r)], wanted[r], 1e-12 * moments.trace()) << n;
    }
    EXPECT_EQ(forms, QuadraticForms(rows.data(), 260, moments.data(), n, 3));
  }
}

// Larger than the blocks that it works in.
TEST(InverseFactor, OfManyInputsIsAFactorForAnyNumberOfThreads) {
  std::mt19937_64 random(8);
  for (const Eigen::Index inputs : {128, 129, 300}) {
    const Eigen::MatrixXd x = DrawMatrix(random, 100, inputs);
    const Eigen::MatrixXd gram = x.transpose() * x / 100;  // has no inverse without damping
    std::vector<Eigen::Index> order(static_cast<std::size_t>(inputs));
    std::iota(order.rbegin(), order.rend(), 0);
    const Eigen::MatrixXd factor = InverseFactor(gram, order, 1);
    Eigen::MatrixXd damped = gram(order, order);
    damped.diagonal().array() += 0.01 * gram.trace() / static_cast<double>(inputs);
    EXPECT_TRUE(factor.isLowerTriangular());
    const Eigen::MatrixXd one = factor * factor.transpose() * damped;
    EXPECT_TRUE(one.isIdentity(1e-9)) << inputs;
    EXPECT_EQ(factor, InverseFactor(gram, order, 3));
  }
}

/// Units by the definition: each time the one whose removal costs least, with the weights and the
/// inverse of what is left made anew.
std::vector<double> ScoresByDefinition(const Eigen::MatrixXd& gram, const Eigen::MatrixXd& weights,
                                       Eigen::Index units) {
  const Eigen::Index each = gram.rows() / units;
  Eigen::MatrixXd inverse = gram;
  inverse.diagonal().array() += 1e-4 * gram.trace() / static_cast<double>(gram.rows());
  inverse = inverse.inverse().eval();
  Eigen::MatrixXd w = weights;  // [inputs, outputs]
  const double energy = (gram * w).cwiseProduct(w).sum();
  std::vector<double> scores(static_cast<std::size_t>(units), -1);
  double floor = 0;
  for (Eigen::Index round = 0; round < units; ++round) {
    Eigen::Index best = -1;
    double least = 0;
    for (Eigen::Index u = 0; u < units; ++u) {
      if (scores[static_cast<std::size_t>(u)] >= 0) continue;
      const Eigen::MatrixXd block = inverse.block(u * each, u * each, each, each);
      const Eigen::MatrixXd rows = w.middleRows(u * each, each);
      const double loss = rows.cwiseProduct(block.inverse() * rows).sum();
      if (best < 0 || loss < least) {
        best = u;
        least = loss;
      }
    }
    floor = std::max(floor, least / energy);
    scores[static_cast<std::size_t>(best)] = floor;
    const Eigen::MatrixXd block = inverse.block(best * each, best * each, each, each);
    const Eigen::MatrixXd columns = inverse.middleCols(best * each, each);
    const Eigen::MatrixXd turned = columns * block.inverse();
    w -= turned * w.middleRows(best * each, each).eval();
    inverse -= turned * columns.transpose();
  }
  return scores;
}

// More units than changes of the inverse are collected before they are applied.
TEST(UnitElimination, OfManyUnitsIsThatOfTheDefinition) {
  std::mt19937_64 random(9);
  for (const Eigen::Index each : {1, 3}) {
    constexpr Eigen::Index kOutputs = 7;
    const Eigen::Index units = 150 / each;
    const Eigen::Index inputs = units * each;
    const std::vector<float> x = Draw(random, 300 * inputs);
    const std::vector<float> weights = Draw(random, kOutputs * inputs);
    LinearMoments moments(inputs, kOutputs, 2);
    moments.Add(300, x.data(), inputs, nullptr, 0);
    std::vector<std::int32_t> unit_of(static_cast<std::size_t>(inputs));
    for (Eigen::Index i = 0; i < inputs; ++i) {
      unit_of[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(10 + i / each);
    }
    UnitElimination elimination;
    elimination.AddReader(moments, weights, unit_of);
    PruneGroup group;
    group.first_unit = 10;
    group.units = static_cast<std::size_t>(units);
    const std::vector<double> scores = elimination.Score(group, ScoreMethod::kObs);
    const std::vector<double> gram = moments.Gram(LinearMoments::About::kMean);
    const std::vector<double> wanted = ScoresByDefinition(
        Eigen::Map<const Eigen::MatrixXd>(gram.data(), inputs, inputs),
        Eigen::Map<const Eigen::MatrixXf>(weights.data(), inputs, kOutputs).cast<double>(), units);
    for (std::size_t u = 0; u < scores.size(); ++u) ASSERT_NEAR(scores[u], wanted[u], 1e-9) << u;
  }
}

}  // namespace
}  // namespace msc
