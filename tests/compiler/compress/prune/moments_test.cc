// Sums of products and the inverse's factor, both against plain loops in double.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include "compiler/compress/prune/inverse_factor.h"
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
