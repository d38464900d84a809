#pragma once

#include <algorithm>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace msc {

/// Lower triangular L with L L^T = (gram + damping)^-1, rows and columns in the order of inputs
/// given; damping is a hundredth of the mean of the diagonal, so that inputs that say the same have
/// an inverse. Not finite where even that has none. What methods need that decide one weight after
/// the other and let the rest make up for it. Source: Frantar et al. 2022 (arXiv 2210.17323)
/// section 3.3. Include from .cc files only: it brings Eigen.
[[nodiscard]] inline Eigen::MatrixXd InverseFactor(const Eigen::MatrixXd& gram,
                                                   const std::vector<Eigen::Index>& order) {
  constexpr double kDamping = 0.01;
  Eigen::MatrixXd damped = gram(order, order);
  damped.diagonal().array() +=
      std::max(kDamping * gram.trace() / static_cast<double>(gram.rows()), 1e-30);
  const Eigen::MatrixXd inverse = damped.selfadjointView<Eigen::Lower>().llt().solve(
      Eigen::MatrixXd::Identity(gram.rows(), gram.cols()));
  return inverse.selfadjointView<Eigen::Lower>().llt().matrixL();
}

}  // namespace msc
