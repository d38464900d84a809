#pragma once

#include <vector>

#include <Eigen/Core>

namespace msc {

/// Replaces a symmetric matrix, whose lower triangle is read, by the inverse of its Cholesky
/// factor: the lower triangular X with X^T X = matrix^-1, zeros above. Not finite if the matrix is
/// not positive definite. The result is the same for any number of threads. Include it from .cc
/// files only: it includes Eigen.
void InvertCholesky(Eigen::MatrixXd& matrix, int threads = 1);

/// Returns the lower triangular L with L L^T = (gram + damping)^-1, rows and columns in the given
/// order of inputs. The damping is a hundredth of the mean of the diagonal, so that the inverse
/// exists if inputs are linearly dependent. Not finite if it does not exist even so. For methods
/// that decide one weight after the other and let the remaining ones compensate. The result is the
/// same for any number of threads.
/// Source: Frantar et al. 2022 (arXiv 2210.17323) section 3.3.
[[nodiscard]] Eigen::MatrixXd InverseFactor(const Eigen::Ref<const Eigen::MatrixXd>& gram,
                                            const std::vector<Eigen::Index>& order,
                                            int threads = 1);

}  // namespace msc
