#include "compiler/compress/prune/inverse_factor.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <Eigen/Cholesky>

#include "compiler/compress/prune/outer_products.h"

namespace msc {
namespace {

using Matrix = Eigen::MatrixXd;

constexpr Eigen::Index kBlock = 128;
/// Rows whose products are added at once.
constexpr Eigen::Index kDepth = 256;

/// Replaces the lower triangle by the Cholesky factor, block column after block column, and the
/// diagonal blocks by their inverses. Returns false unless the matrix is positive definite.
bool Factorize(Matrix& matrix, int threads) {
  const Eigen::Index n = matrix.rows();
  for (Eigen::Index first = 0; first < n; first += kBlock) {
    const Eigen::Index width = std::min(kBlock, n - first);
    const Eigen::LLT<Matrix> diagonal(matrix.block(first, first, width, width));
    if (diagonal.info() != Eigen::Success) return false;
    const Matrix inverse = diagonal.matrixL().solve(Matrix::Identity(width, width));
    matrix.block(first, first, width, width) = inverse;
    const Eigen::Index next = first + width;
    const Eigen::Index rest = n - next;
    if (rest == 0) break;
    // The rows below times the transposed inverse are the factor's.
    Matrix below = Matrix::Zero(rest, width);
    AddProducts(Panels(&matrix(next, first), width, rest, n, 1),
                Panels(inverse.data(), width, width, width, 1), false, threads, below.data());
    matrix.block(next, first, rest, width) = below;
    const Panels rows(below.data(), width, rest, rest, 1);
    const Matrix negative = -below;
    AddProducts(rows, Panels(negative.data(), width, rest, rest, 1), true, threads,
                {.first = &matrix(next, next), .stride = n});
  }
  return true;
}

/// Replaces what Factorize left by the inverse of the factor, block row after block row.
void InvertTriangle(Matrix& matrix, int threads) {
  const Eigen::Index n = matrix.rows();
  for (Eigen::Index first = kBlock; first < n; first += kBlock) {
    const Eigen::Index height = std::min(kBlock, n - first);
    // The rows of the factor left of the diagonal, times the inverse above them.
    Matrix products = Matrix::Zero(height, first);
    for (Eigen::Index k = 0; k < first; k += kDepth) {
      const Eigen::Index depth = std::min(kDepth, first - k);
      AddProducts(Panels(&matrix(first, k), depth, height, n, 1),
                  Panels(&matrix(k, 0), depth, k + depth, 1, n), false, threads, products.data());
    }
    const Matrix negative = -matrix.block(first, first, height, height);
    matrix.block(first, 0, height, first).setZero();
    AddProducts(Panels(negative.data(), height, height, height, 1),
                Panels(products.data(), height, first, 1, height), false, threads,
                {.first = &matrix(first, 0), .stride = n});
  }
}

}  // namespace

void InvertCholesky(Matrix& matrix, int threads) {
  if (!Factorize(matrix, threads)) {
    matrix.setConstant(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  matrix.triangularView<Eigen::StrictlyUpper>().setZero();
  InvertTriangle(matrix, threads);
}

Matrix InverseFactor(const Eigen::Ref<const Matrix>& gram, const std::vector<Eigen::Index>& order,
                     int threads) {
  constexpr double kDamping = 0.01;
  // The rows of a Cholesky factor of the matrix in reverse order, reversed again, are an upper
  // triangular U with U U^T = damped, so that L is the transposed inverse of U.
  const std::vector<Eigen::Index> reversed(order.rbegin(), order.rend());
  Matrix damped = gram(reversed, reversed);
  damped.diagonal().array() +=
      std::max(kDamping * gram.trace() / static_cast<double>(gram.rows()), 1e-30);
  InvertCholesky(damped, threads);
  return damped.reverse().transpose();
}

}  // namespace msc
