#include "compiler/compress/prune/least_squares.h"

#include <algorithm>
#include <limits>
#include <map>
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

/// Added to the diagonal of the inputs' moments, relative to its mean, so that they have an inverse
/// if inputs are linearly dependent.
constexpr double kDamping = 1e-4;

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
  Matrix xx;
  Matrix xy;
  Vector yy;  ///< by output
  Vector x;
  Vector y;

  /// Returns the moments about the means, divided by the count.
  [[nodiscard]] Matrix CentredXX() const {
    const double n = static_cast<double>(std::max<std::int64_t>(count, 1));
    // Add computes the lower triangle only, which halves its work.
    Matrix full = xx.selfadjointView<Eigen::Lower>();
    return full / n - (x / n) * (x / n).transpose();
  }

  [[nodiscard]] double Variance() const {
    const double n = static_cast<double>(std::max<std::int64_t>(count, 1));
    // E y^2 - (E y)^2 may be slightly negative by rounding for outputs that are constant.
    return (yy / n - (y / n).cwiseAbs2()).cwiseMax(0.0).sum();
  }

  /// Returns the mean of |W x + b - y|^2 relative to the variance of y, from moments.
  [[nodiscard]] double Error(const Matrix& w, const Vector& b) const {
    const double n = static_cast<double>(std::max<std::int64_t>(count, 1));
    const Vector mean_y = y / n;
    const Matrix full = xx.selfadjointView<Eigen::Lower>();
    const double second =
        ((w * full).cwiseProduct(w).sum() - 2 * w.cwiseProduct(xy.transpose()).sum() + yy.sum()) /
            n +
        b.squaredNorm() + 2 * b.dot(w * x) / n - 2 * b.dot(mean_y);
    // The terms of the expanded square cancel, so rounding may leave less than 0.
    return std::max(second, 0.0) / std::max(Variance(), std::numeric_limits<double>::min());
  }
};

LinearMoments::LinearMoments(std::int64_t inputs, std::int64_t outputs, int threads)
    : sums_(std::make_unique<Sums>()) {
  sums_->threads = threads;
  sums_->xx = Matrix::Zero(inputs, inputs);
  sums_->xy = Matrix::Zero(inputs, outputs);
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

void LinearMoments::Add(std::int64_t count, const float* x, std::int64_t x_stride, const float* y,
                        std::int64_t y_stride) {
  // A few rows at a time, so that a pair of panels stays in the cache.
  constexpr std::int64_t kRows = 256;
  for (std::int64_t first = 0; first < count; first += kRows) {
    AddBlock(std::min(kRows, count - first), x + first * x_stride, x_stride,
             y == nullptr ? nullptr : y + first * y_stride, y_stride);
  }
}

void LinearMoments::AddBlock(std::int64_t count, const float* x, std::int64_t x_stride,
                             const float* y, std::int64_t y_stride) {
  const auto sum = [&](const float* rows, std::int64_t stride, Vector& into) {
    into += RowsView(rows, count, into.size(), Eigen::OuterStride<>(stride))
                .cast<double>()
                .colwise()
                .sum()
                .transpose();
  };
  const Panels inputs(x, count, sums_->x.size(), x_stride);
  AddProducts(inputs, inputs, true, sums_->threads, sums_->xx.data());
  sum(x, x_stride, sums_->x);
  sums_->count += count;
  if (y == nullptr) return;
  const Panels wanted(y, count, sums_->y.size(), y_stride);
  AddProducts(inputs, wanted, false, sums_->threads, sums_->xy.data());
  sum(y, y_stride, sums_->y);
  sums_->yy += RowsView(y, count, sums_->y.size(), Eigen::OuterStride<>(y_stride))
                   .cast<double>()
                   .colwise()
                   .squaredNorm()
                   .transpose();
}

std::vector<double> LinearMoments::Gram(About about) const {
  const double n = static_cast<double>(std::max<std::int64_t>(sums_->count, 1));
  Matrix gram = about == About::kMean ? sums_->CentredXX() : Matrix();
  if (about == About::kZero) gram = Matrix(sums_->xx.selfadjointView<Eigen::Lower>()) / n;
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
  const double n = static_cast<double>(sums_->count);
  const Matrix old = ToMatrix(weights, outputs, inputs);
  const Vector old_bias = Eigen::Map<const Eigen::VectorXf>(bias.data(), outputs).cast<double>();
  const Vector mean_x = sums_->x / n;
  const Vector mean_y = sums_->y / n;
  Matrix xx = sums_->xx.selfadjointView<Eigen::Lower>();
  xx /= n;
  Matrix xy = sums_->xy / n;
  Matrix left = xx;
  Matrix right = xy;
  // With a free bias the optimum passes through the means, so moments about the means give the
  // weights, and the bias follows from them.
  if (free_bias) {
    left -= mean_x * mean_x.transpose();
    right -= mean_x * mean_y.transpose();
  } else {
    right -= mean_x * old_bias.transpose();
  }
  // The ridge pulls towards the old weights instead of 0 (Tikhonov): directions without samples
  // keep them.
  const double damping = Damp(left, ridge);
  left.diagonal().array() += damping;
  right += damping * old.transpose();
  // LDL^T also works if rounding makes the smallest eigenvalues slightly negative.
  const Matrix solved = left.selfadjointView<Eigen::Lower>().ldlt().solve(right).transpose();
  const Vector solved_bias = free_bias ? Vector(mean_y - solved * mean_x) : old_bias;
  Fit fit;
  fit.error_before = sums_->Error(old, old_bias);
  fit.error_after = sums_->Error(solved, solved_bias);
  // The ridge and rounding may make the solution worse on the samples; then the old weights stay.
  const bool better = solved.allFinite() && fit.error_after <= fit.error_before;
  if (!better) fit.error_after = fit.error_before;
  const Rows rows = (better ? solved : old).cast<float>();
  fit.weights.assign(rows.data(), rows.data() + rows.size());
  const Eigen::VectorXf narrow = (better ? solved_bias : old_bias).cast<float>();
  fit.bias.assign(narrow.data(), narrow.data() + narrow.size());
  return fit;
}

/// Moments and weights of one layer that reads units.
struct UnitElimination::Reader {
  Matrix moments;
  Matrix weights;  ///< [inputs, outputs]
  double energy = 0;
  std::map<std::int32_t, std::vector<Eigen::Index>> inputs_of;  ///< inputs of each unit
};

UnitElimination::UnitElimination() = default;
UnitElimination::~UnitElimination() = default;

bool UnitElimination::empty() const {
  return readers_.empty();
}

void UnitElimination::AddReader(const LinearMoments& moments, std::span<const float> weights,
                                std::vector<std::int32_t> unit_of) {
  const auto inputs = static_cast<Eigen::Index>(unit_of.size());
  auto reader = std::make_unique<Reader>();
  // About the mean, as the bias can compensate for the mean of a removed input.
  reader->moments = moments.sums_->CentredXX();
  Check(reader->moments.rows() == inputs && inputs > 0, "every input has a unit or none");
  reader->weights = ToMatrix(weights, std::ssize(weights) / inputs, inputs).transpose();
  reader->energy = (reader->moments * reader->weights).cwiseProduct(reader->weights).sum();
  for (Eigen::Index i = 0; i < inputs; ++i) {
    const std::int32_t unit = unit_of[static_cast<std::size_t>(i)];
    if (unit >= 0) reader->inputs_of[unit].push_back(i);
  }
  // A layer without output energy has no share to lose.
  if (reader->energy > 0) readers_.push_back(std::move(reader));
}

namespace {

/// Returns tr(W_u^T M_uu W_u): the loss of output energy if the other weights stay as they are.
double Energy(const Matrix& moments, const Matrix& weights,
              const std::vector<Eigen::Index>& inputs) {
  const Matrix block = moments(inputs, inputs);
  const Matrix rows = weights(inputs, Eigen::all);
  return (block * rows).cwiseProduct(rows).sum();
}

/// State of one layer while units are removed one after the other.
class Elimination {
 public:
  Elimination(const Matrix& moments, Matrix weights) : weights_(std::move(weights)) {
    Matrix damped = moments;
    damped.diagonal().array() += Damp(moments, kDamping);
    inverse_ = damped.selfadjointView<Eigen::Lower>().llt().solve(
        Matrix::Identity(moments.rows(), moments.cols()));
  }
  /// Returns tr(W_u^T (M^-1_uu)^-1 W_u): the loss of output energy if the other weights compensate.
  [[nodiscard]] double Loss(const std::vector<Eigen::Index>& inputs) const {
    const Matrix rows = weights_(inputs, Eigen::all);
    const Matrix block = inverse_(inputs, inputs);
    return std::max(rows.cwiseProduct(block.ldlt().solve(rows)).sum(), 0.0);
  }
  // Removes inputs: updates the other weights, and the inverse as that of the remaining inputs.
  void Remove(const std::vector<Eigen::Index>& inputs) {
    const Matrix block = inverse_(inputs, inputs);
    const auto factor = block.ldlt();
    const Matrix columns = inverse_(Eigen::all, inputs);
    const Matrix rows = weights_(inputs, Eigen::all);
    weights_.noalias() -= columns * factor.solve(rows);
    const Matrix turned = columns.transpose();
    // One step of Gaussian elimination gives the inverse without these rows and columns (Frantar
    // and Alistarh, 2022, lemma 1), and costs far less than inverting again.
    inverse_.noalias() -= columns * factor.solve(turned);
    // These entries are 0 except for rounding; a diagonal of 1 keeps later blocks invertible.
    for (const Eigen::Index i : inputs) {
      weights_.row(i).setZero();
      inverse_.row(i).setZero();
      inverse_.col(i).setZero();
      inverse_(i, i) = 1;
    }
  }

 private:
  Matrix inverse_;
  Matrix weights_;
};

}  // namespace

std::vector<double> UnitElimination::Score(const PruneGroup& group, ScoreMethod method) const {
  std::vector<double> scores(group.units, 0.0);
  const auto unit_number = [&](std::size_t i) {
    return static_cast<std::int32_t>(group.first_unit + i);
  };
  if (method == ScoreMethod::kEnergy) {
    for (const auto& reader : readers_) {
      for (std::size_t i = 0; i < group.units; ++i) {
        const auto inputs = reader->inputs_of.find(unit_number(i));
        if (inputs == reader->inputs_of.end()) continue;
        // Shares of each layer's own output energy add up over layers of different scale.
        scores[i] += std::max(Energy(reader->moments, reader->weights, inputs->second), 0.0) /
                     reader->energy;
      }
    }
    return scores;
  }
  std::vector<Elimination> states;
  for (const auto& reader : readers_) states.emplace_back(reader->moments, reader->weights);
  std::vector<bool> gone(group.units, false);
  double floor = 0;
  for (std::size_t round = 0; round < group.units; ++round) {
    std::size_t best = group.units;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < group.units; ++i) {
      if (gone[i]) continue;
      double loss = 0;
      for (std::size_t r = 0; r < readers_.size(); ++r) {
        const auto inputs = readers_[r]->inputs_of.find(unit_number(i));
        if (inputs == readers_[r]->inputs_of.end()) continue;
        loss += states[r].Loss(inputs->second) / readers_[r]->energy;
      }
      if (best == group.units || loss < least) {
        best = i;
        least = loss;
      }
    }
    gone[best] = true;
    // Compensation changes the other weights, so a later removal may cost less than an earlier one.
    floor = std::max(floor, least);
    scores[best] = floor;
    for (std::size_t r = 0; r < readers_.size(); ++r) {
      const auto inputs = readers_[r]->inputs_of.find(unit_number(best));
      if (inputs != readers_[r]->inputs_of.end()) states[r].Remove(inputs->second);
    }
  }
  return scores;
}

}  // namespace msc
