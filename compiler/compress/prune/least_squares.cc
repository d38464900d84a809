#include "compiler/compress/prune/least_squares.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "compiler/base/error.h"
#include "compiler/compress/prune/outer_products.h"

namespace msc {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsView = Eigen::Map<const Rows, 0, Eigen::OuterStride<>>;

/// Rows whose products are added at once: a pair of their panels stays in the cache, and calls with
/// fewer rows wait for others, since each sum is read and written once a call.
constexpr std::int64_t kRows = 256;

Matrix ToMatrix(std::span<const float> rows, Eigen::Index outputs, Eigen::Index inputs) {
  Check(std::ssize(rows) == outputs * inputs, "weights have the size of their layer");
  return Eigen::Map<const Rows>(rows.data(), outputs, inputs).cast<double>();
}

/// Returns the multiple of the identity to add: `share` of the mean of the diagonal; > 0.
double Damp(const Matrix& moments, double share) {
  const double mean =
      moments.rows() == 0 ? 0.0 : moments.trace() / static_cast<double>(moments.rows());
  return std::max(share * mean, std::numeric_limits<double>::min());
}

}  // namespace

struct LinearMoments::Sums {
  int threads = 1;
  std::int64_t count = 0;
  Matrix xx;  ///< its lower triangle; of the rows that are not kept, as xy
  Matrix xy;
  std::vector<float> x_rows;  ///< rows that are kept: all, or the last ones; [kept, inputs]
  std::vector<float> y_rows;  ///< [kept, outputs]
  std::int64_t kept = 0;
  Vector yy;  ///< by output
  Vector x;
  Vector y;

  /// Adds the products of inputs to the lower triangle of `sum`.
  void AddInputs(std::int64_t rows, const float* values, std::int64_t stride, Matrix& sum) const {
    // A few rows at a time, so that a pair of panels stays in the cache.
    for (std::int64_t first = 0; first < rows; first += kRows) {
      const Panels inputs(values + first * stride, std::min(kRows, rows - first), x.size(), stride);
      AddProducts(inputs, inputs, true, threads, sum.data());
    }
  }
  /// Adds rows to xx, and to xy unless `y_values` is nullptr.
  void AddProductsOf(std::int64_t rows, const float* x_values, std::int64_t x_stride,
                     const float* y_values, std::int64_t y_stride) {
    if (xx.size() == 0) {
      xx = Matrix::Zero(x.size(), x.size());
      xy = Matrix::Zero(x.size(), y.size());
    }
    AddInputs(rows, x_values, x_stride, xx);
    for (std::int64_t first = 0; first < rows && y_values != nullptr; first += kRows) {
      const std::int64_t here = std::min(kRows, rows - first);
      AddProducts(Panels(x_values + first * x_stride, here, x.size(), x_stride),
                  Panels(y_values + first * y_stride, here, y.size(), y_stride), false, threads,
                  xy.data());
    }
  }
  /// Adds the rows that are kept to xx and xy, and keeps them no longer.
  void Sum() {
    if (kept == 0 && xx.size() > 0) return;
    AddProductsOf(kept, x_rows.data(), x.size(), y_rows.data(), y.size());
    x_rows = {};
    y_rows = {};
    kept = 0;
  }

  /// Appends rows to those that are kept.
  void Keep(std::int64_t rows, const float* values, std::int64_t stride, const Vector& one,
            std::vector<float>& into) const {
    into.resize(into.size() + static_cast<std::size_t>(rows * one.size()));
    Eigen::Map<Rows>(into.data() + kept * one.size(), rows, one.size()) =
        RowsView(values, rows, one.size(), Eigen::OuterStride<>(stride));
  }

  /// Returns the moments about zero, divided by the count.
  [[nodiscard]] Matrix FullXX() {
    // The lower triangle alone is summed, which halves the work.
    Matrix full;
    if (HasAllRows()) {
      full = Matrix::Zero(x.size(), x.size());
      AddInputs(kept, x_rows.data(), x.size(), full);
    } else {
      Sum();
      full = xx;
    }
    full.triangularView<Eigen::StrictlyUpper>() = full.transpose();
    full /= static_cast<double>(std::max<std::int64_t>(count, 1));
    return full;
  }
  /// Returns whether all rows are kept, which are fewer than inputs then.
  [[nodiscard]] bool HasAllRows() const { return count > 0 && kept == count; }
  /// Returns the moments about the means, divided by the count.
  [[nodiscard]] Matrix CentredXX() {
    const double n = static_cast<double>(std::max<std::int64_t>(count, 1));
    Matrix centred = FullXX();
    centred.noalias() -= (x / n) * (x / n).transpose();
    return centred;
  }

  [[nodiscard]] double Variance() const {
    const double n = static_cast<double>(std::max<std::int64_t>(count, 1));
    // E y^2 - (E y)^2 may be slightly negative by rounding for outputs that are constant.
    return (yy / n - (y / n).cwiseAbs2()).cwiseMax(0.0).sum();
  }

  /// Returns the mean of |W x + b - y|^2 relative to the variance of y, from moments, or from rows
  /// if all are kept.
  [[nodiscard]] double Error(const Matrix& w, const Vector& b) {
    if (HasAllRows()) return Relative(ResidualOf(w, b).squaredNorm() / static_cast<double>(count));
    const double n = static_cast<double>(std::max<std::int64_t>(count, 1));
    const Vector mean_y = y / n;
    const Matrix full = FullXX();
    const std::vector<double> energies =
        QuadraticForms(w.data(), w.rows(), full.data(), full.rows(), threads);
    const double second = std::accumulate(energies.begin(), energies.end(), 0.0) +
                          (yy.sum() - 2 * w.cwiseProduct(xy.transpose()).sum()) / n +
                          b.squaredNorm() + 2 * b.dot(w * x) / n - 2 * b.dot(mean_y);
    // The terms of the expanded square cancel, so rounding may leave less than 0.
    return Relative(std::max(second, 0.0));
  }
  /// Returns y - W x - b of the rows that are kept: [kept, outputs].
  [[nodiscard]] Matrix ResidualOf(const Matrix& w, const Vector& b) const {
    const Matrix rows = Eigen::Map<const Rows>(x_rows.data(), kept, x.size()).cast<double>();
    Matrix made = Matrix::Zero(kept, y.size());
    for (std::int64_t first = 0; first < x.size(); first += kRows) {
      const std::int64_t here = std::min<std::int64_t>(kRows, x.size() - first);
      AddProducts(Panels(&rows(0, first), here, kept, kept, 1),
                  Panels(&w(0, first), here, y.size(), y.size(), 1), false, threads, made.data());
    }
    Matrix residual = Eigen::Map<const Rows>(y_rows.data(), kept, y.size()).cast<double>() - made;
    residual.rowwise() -= b.transpose();
    return residual;
  }
  [[nodiscard]] double Relative(double mean_square) const {
    return mean_square / std::max(Variance(), std::numeric_limits<double>::min());
  }

  /// A layer to fit, and how; see LinearMoments::Solve.
  struct Problem {
    const Matrix& old;  ///< [outputs, inputs]
    const Vector& old_bias;
    bool free_bias = false;
    double ridge = 0;
  };
  struct Solution {
    Matrix weights;
    double error_before = 0;
    double error_after = 0;
  };
  [[nodiscard]] Solution SolveFromSums(const Problem& problem);
  [[nodiscard]] Solution SolveFromRows(const Problem& problem) const;
  [[nodiscard]] Vector BiasFor(const Problem& problem, const Matrix& weights) const {
    const auto n = static_cast<double>(count);
    return problem.free_bias ? Vector(y / n - weights * (x / n)) : problem.old_bias;
  }
};

namespace {

/// Solves left * result = right for a symmetric, nearly positive definite left, whose lower
/// triangle is read.
Matrix SolveSymmetric(const Matrix& left, const Matrix& right) {
  const auto view = left.selfadjointView<Eigen::Lower>();
  const auto factor = view.llt();
  if (factor.info() == Eigen::Success) return factor.solve(right);
  // LDL^T also works if rounding makes the smallest eigenvalues slightly negative.
  return view.ldlt().solve(right);
}

}  // namespace

LinearMoments::Sums::Solution LinearMoments::Sums::SolveFromSums(const Problem& problem) {
  const auto n = static_cast<double>(count);
  Matrix left = FullXX();
  Matrix right = xy / n;
  // With a free bias the optimum passes through the means, so moments about the means give the
  // weights, and the bias follows from them.
  if (problem.free_bias) {
    left -= (x / n) * (x / n).transpose();
    right -= (x / n) * (y / n).transpose();
  } else {
    right -= (x / n) * problem.old_bias.transpose();
  }
  // The ridge pulls towards the old weights instead of 0 (Tikhonov): directions without samples
  // keep them.
  const double damping = Damp(left, problem.ridge);
  left.diagonal().array() += damping;
  right += damping * problem.old.transpose();
  Solution solution{.weights = SolveSymmetric(left, right).transpose()};
  solution.error_before = Error(problem.old, problem.old_bias);
  solution.error_after = Error(solution.weights, BiasFor(problem, solution.weights));
  return solution;
}

// With fewer rows than inputs it is cheaper to solve for the rows: with the residual R = Y - X W^T
// of the old weights, the change of W^T is X^T (X X^T / m + d I)^-1 R / m, and what remains of the
// residual is d (X X^T / m + d I)^-1 R (Saunders, Gammerman, Vovk 1998, ridge regression in dual
// variables).
LinearMoments::Sums::Solution LinearMoments::Sums::SolveFromRows(const Problem& problem) const {
  const Eigen::Index m = kept;
  const Eigen::Index inputs = x.size();
  const Eigen::Index outputs = y.size();
  const auto rows = static_cast<double>(m);
  Matrix centred = Eigen::Map<const Rows>(x_rows.data(), m, inputs).cast<double>();
  if (problem.free_bias) centred.rowwise() -= (x / rows).transpose();
  const Vector offset = problem.free_bias ? Vector(y / rows) : problem.old_bias;
  Matrix made = Matrix::Zero(m, outputs);
  const Panels by_input(centred.data(), inputs, m, m, 1);
  AddProducts(by_input, Panels(problem.old.data(), inputs, outputs, outputs, 1), false, threads,
              made.data());
  Matrix residual = Eigen::Map<const Rows>(y_rows.data(), m, outputs).cast<double>() - made;
  residual.rowwise() -= offset.transpose();
  Matrix left = Matrix::Zero(m, m);
  AddProducts(by_input, by_input, true, threads, left.data());
  left /= rows;
  // As Damp of the moments, whose diagonal has the same sum.
  const double damping = std::max(problem.ridge * left.trace() / static_cast<double>(inputs),
                                  std::numeric_limits<double>::min());
  left.diagonal().array() += damping;
  const Matrix solved = SolveSymmetric(left, residual);
  Matrix change = Matrix::Zero(inputs, outputs);
  AddProducts(Panels(centred.data(), m, inputs, 1, m), Panels(solved.data(), m, outputs, 1, m),
              false, threads, change.data());
  Solution solution{.weights = problem.old + change.transpose() / rows};
  // The old bias adds its distance from the best one to each row of a residual without mean.
  const Vector shift = BiasFor(problem, problem.old) - problem.old_bias;
  solution.error_before = Relative(residual.squaredNorm() / rows + shift.squaredNorm());
  solution.error_after = Relative(damping * damping * solved.squaredNorm() / rows);
  return solution;
}

LinearMoments::LinearMoments(std::int64_t inputs, std::int64_t outputs, int threads)
    : sums_(std::make_unique<Sums>()) {
  sums_->threads = threads;
  sums_->yy = Vector::Zero(outputs);
  sums_->x = Vector::Zero(inputs);
  sums_->y = Vector::Zero(outputs);
}
LinearMoments::LinearMoments(LinearMoments&&) noexcept = default;
LinearMoments& LinearMoments::operator=(LinearMoments&&) noexcept = default;
LinearMoments::~LinearMoments() = default;

std::int64_t LinearMoments::count() const {
  return sums_->count;
}

int LinearMoments::threads() const {
  return sums_->threads;
}

void LinearMoments::Add(std::int64_t count, const float* x, std::int64_t x_stride, const float* y,
                        std::int64_t y_stride) {
  Sums& sums = *sums_;
  const auto view = [&](const float* rows, std::int64_t stride, const Vector& one) {
    return RowsView(rows, count, one.size(), Eigen::OuterStride<>(stride));
  };
  const auto x_rows = view(x, x_stride, sums.x);
  sums.x += x_rows.cast<double>().colwise().sum().transpose();
  if (y != nullptr) {
    const auto y_rows = view(y, y_stride, sums.y);
    sums.y += y_rows.cast<double>().colwise().sum().transpose();
    sums.yy += y_rows.cast<double>().colwise().squaredNorm().transpose();
  }
  const bool all_kept = sums.kept == sums.count;
  sums.count += count;
  const bool few = all_kept && sums.count <= sums.x.size();
  if (y == nullptr || (!few && sums.kept == 0 && count >= kRows)) {
    sums.Sum();
    sums.AddProductsOf(count, x, x_stride, y, y_stride);
    return;
  }
  sums.Keep(count, x, x_stride, sums.x, sums.x_rows);
  sums.Keep(count, y, y_stride, sums.y, sums.y_rows);
  sums.kept += count;
  if (!few && sums.kept >= kRows) sums.Sum();
}

std::vector<double> LinearMoments::Gram(About about) const {
  const Matrix gram = about == About::kMean ? sums_->CentredXX() : sums_->FullXX();
  return {gram.data(), gram.data() + gram.size()};
}

std::vector<double> LinearMoments::MeanInput() const {
  const Vector mean = sums_->x / static_cast<double>(std::max<std::int64_t>(sums_->count, 1));
  return {mean.data(), mean.data() + mean.size()};
}

std::vector<double> LinearMoments::MeanOutput() const {
  const Vector mean = sums_->y / static_cast<double>(std::max<std::int64_t>(sums_->count, 1));
  return {mean.data(), mean.data() + mean.size()};
}

double LinearMoments::Error(std::span<const float> weights, std::span<const float> bias) const {
  const Eigen::Index outputs = sums_->y.size();
  Check(std::ssize(bias) == outputs, "a bias an output");
  return sums_->Error(ToMatrix(weights, outputs, sums_->x.size()),
                      Eigen::Map<const Eigen::VectorXf>(bias.data(), outputs).cast<double>());
}

double LinearMoments::Variance() const {
  return sums_->Variance();
}

LinearMoments::Fit LinearMoments::Solve(std::span<const float> weights, std::span<const float> bias,
                                        bool free_bias, double ridge) const {
  const Eigen::Index inputs = sums_->x.size();
  const Eigen::Index outputs = sums_->y.size();
  Check(sums_->count > 0 && std::ssize(bias) == outputs, "Solve has samples and a bias an output");
  const Matrix old = ToMatrix(weights, outputs, inputs);
  const Vector old_bias = Eigen::Map<const Eigen::VectorXf>(bias.data(), outputs).cast<double>();
  const Sums::Problem problem{
      .old = old, .old_bias = old_bias, .free_bias = free_bias, .ridge = ridge};
  const Sums::Solution found =
      sums_->HasAllRows() ? sums_->SolveFromRows(problem) : sums_->SolveFromSums(problem);
  const Vector found_bias = sums_->BiasFor(problem, found.weights);
  Fit fit;
  fit.error_before = found.error_before;
  fit.error_after = found.error_after;
  // The ridge and rounding may make the solution worse on the samples; then the old weights stay.
  const bool better = found.weights.allFinite() && fit.error_after <= fit.error_before;
  if (!better) fit.error_after = fit.error_before;
  const Rows rows = (better ? found.weights : old).cast<float>();
  fit.weights.assign(rows.data(), rows.data() + rows.size());
  const Eigen::VectorXf narrow = (better ? found_bias : old_bias).cast<float>();
  fit.bias.assign(narrow.data(), narrow.data() + narrow.size());
  return fit;
}

}  // namespace msc
