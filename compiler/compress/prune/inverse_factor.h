#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace msc {

/// Returns the lower triangular L with L L^T = (gram + damping)^-1, rows and columns in the given
/// order of inputs. The damping is a hundredth of the mean of the diagonal, so that the inverse
/// exists if inputs are linearly dependent. Not finite if it does not exist even so. For methods
/// that decide one weight after the other and let the remaining ones compensate. Include it from
/// .cc files only: it includes Eigen.
/// Source: Frantar et al. 2022 (arXiv 2210.17323) section 3.3.
[[nodiscard]] inline Eigen::MatrixXd InverseFactor(const Eigen::MatrixXd& gram,
                                                   const std::vector<Eigen::Index>& order) {
  constexpr double kDamping = 0.01;
  Eigen::MatrixXd damped = gram(order, order);
  damped.diagonal().array() +=
      std::max(kDamping * gram.trace() / static_cast<double>(gram.rows()), 1e-30);
  // The rows of a Cholesky factor of the matrix in reverse order, reversed again, are an upper
  // triangular U with U U^T = damped, so that L is the transposed inverse of U.
  const Eigen::LLT<Eigen::MatrixXd> reversed(damped.reverse());
  if (reversed.info() != Eigen::Success) {
    return Eigen::MatrixXd::Constant(gram.rows(), gram.cols(),
                                     std::numeric_limits<double>::quiet_NaN());
  }
  const Eigen::MatrixXd inverse =
      reversed.matrixL().solve(Eigen::MatrixXd::Identity(gram.rows(), gram.cols()));
  return inverse.reverse().transpose();
}

}  // namespace msc
