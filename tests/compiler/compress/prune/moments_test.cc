// Sums of products and the inverse's factor, both against plain loops in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Core>
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

}  // namespace
}  // namespace msc
