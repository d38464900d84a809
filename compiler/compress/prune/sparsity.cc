#include "compiler/compress/prune/sparsity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "compiler/base/error.h"
#include "compiler/compress/prune/inverse_factor.h"
#include "compiler/compress/prune/outer_products.h"

namespace msc {
namespace {

using Matrix = Eigen::MatrixXd;
using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Number of inputs over which unstructured zeros are spread evenly, as in the source.
constexpr Eigen::Index kStretch = 128;

template <class T>
bool Parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Returns the inputs tap by tap instead of channel by channel, so that channels of one tap are
/// neighbours.
std::vector<Eigen::Index> ByTap(const LinearForm& form) {
  std::vector<Eigen::Index> order;
  for (Eigen::Index tap = 0; tap < form.taps; ++tap) {
    for (Eigen::Index i = tap; i < form.inputs; i += form.taps) order.push_back(i);
  }
  return order;
}

/// Decides which weights stay, 1 or 0, by their costs, for stretches of `width` inputs (columns).
class Mask {
 public:
  Mask(const SparsityPattern& pattern, Eigen::Index inputs)
      : pattern_(pattern), width_(pattern.keep > 0 ? pattern.of : std::min(kStretch, inputs)) {}

  [[nodiscard]] Eigen::Index width() const { return width_; }

  [[nodiscard]] Matrix Of(const Matrix& costs) const {
    Matrix stays = Matrix::Zero(costs.rows(), costs.cols());
    if (pattern_.keep > 0) {
      for (Eigen::Index row = 0; row < costs.rows(); ++row) {
        KeepDearest(costs.row(row), pattern_.keep, [&](Eigen::Index i) { stays(row, i) = 1; });
      }
      return stays;
    }
    const double count = pattern_.density * static_cast<double>(costs.size());
    // nearbyint rounds ties to even, so counts do not drift in one direction over many stretches.
    KeepDearest(costs.reshaped(), static_cast<std::int64_t>(std::nearbyint(count)),
                [&](Eigen::Index i) { stays.reshaped()(i) = 1; });
    return stays;
  }

 private:
  template <class Costs, class Keep>
  static void KeepDearest(const Costs& costs, std::int64_t count, const Keep& keep) {
    std::vector<Eigen::Index> order(static_cast<std::size_t>(costs.size()));
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    // Ties stay in the order of inputs, so equal costs give equal masks on every machine.
    std::stable_sort(order.begin(), order.end(),
                     [&](Eigen::Index a, Eigen::Index b) { return costs(a) > costs(b); });
    for (std::int64_t i = 0; i < count; ++i) keep(order[static_cast<std::size_t>(i)]);
  }

  const SparsityPattern& pattern_;
  Eigen::Index width_;
};

/// Keeps the weights of largest magnitude.
Matrix KeepLargest(const Matrix& weights, const Mask& mask) {
  Matrix kept = weights;
  for (Eigen::Index first = 0; first < weights.cols(); first += mask.width()) {
    const Eigen::Index count = std::min(mask.width(), weights.cols() - first);
    auto part = kept.middleCols(first, count);
    part = part.cwiseProduct(mask.Of(part.cwiseAbs2())).eval();
  }
  return kept;
}

/// Sets the weights of stretches in columns [first, end) to zero one stretch after the other, and
/// lets the weights behind in these columns compensate. The cost of a weight is w^2 / factor(i,
/// i)^2. Returns the negative errors that the weights from `end` on compensate for.
Matrix MakeUpWithin(Eigen::Index begin, Eigen::Index end, const Mask& mask, const Matrix& factor,
                    Matrix& weights) {
  Matrix errors(weights.rows(), end - begin);
  for (Eigen::Index first = begin; first < end; first += mask.width()) {
    const Eigen::Index count = std::min(mask.width(), end - first);
    // w^2 / factor(i, i)^2 is the error that is left if weight i goes and later weights compensate
    // (Frantar and Alistarh, 2023, algorithm 1).
    const Eigen::RowVectorXd spread =
        factor.diagonal().segment(first, count).transpose().cwiseAbs2().cwiseInverse();
    const Matrix costs =
        (weights.middleCols(first, count).cwiseAbs2().array().rowwise() * spread.array()).matrix();
    const Matrix stays = mask.Of(costs);
    for (Eigen::Index i = first; i < first + count; ++i) {
      const Eigen::VectorXd kept = weights.col(i).cwiseProduct(stays.col(i - first));
      // The later weights move against the error as in optimal brain surgery, with column i of the
      // factor in place of the inverse of the remaining inputs.
      errors.col(i - begin) = (kept - weights.col(i)) / factor(i, i);
      weights.col(i) = kept;
      const Eigen::Index rest = end - i - 1;
      // Zeros that are decided lie in front of i, so they stay.
      weights.middleCols(i + 1, rest).noalias() +=
          errors.col(i - begin) * factor.col(i).segment(i + 1, rest).transpose();
    }
  }
  return errors;
}

/// Does so for all weights. Those behind some stretches compensate for all of these at once, which
/// is a product of matrices.
Matrix MakeUp(Matrix weights, const Mask& mask, const Matrix& factor, int threads) {
  constexpr Eigen::Index kBlock = 128;
  const Eigen::Index rows = weights.rows();
  const Eigen::Index inputs = weights.cols();
  const Eigen::Index width = std::max(kBlock / mask.width(), Eigen::Index{1}) * mask.width();
  for (Eigen::Index first = 0; first < inputs; first += width) {
    const Eigen::Index end = std::min(first + width, inputs);
    const Matrix errors = MakeUpWithin(first, end, mask, factor, weights);
    if (end == inputs) break;
    AddProducts(Panels(errors.data(), end - first, rows, rows, 1),
                Panels(&factor(end, first), end - first, inputs - end, inputs, 1), false, threads,
                &weights(0, end));
  }
  return weights;
}

}  // namespace

SparsityPattern ParseSparsity(std::string_view text) {
  SparsityPattern pattern;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    if (Parse(text, pattern.density) && pattern.density > 0 && pattern.density < 1) return pattern;
  } else if (Parse(text.substr(0, colon), pattern.keep) &&
             Parse(text.substr(colon + 1), pattern.of) && pattern.keep > 0 &&
             pattern.keep < pattern.of && pattern.of <= 64) {
    pattern.density = static_cast<double>(pattern.keep) / static_cast<double>(pattern.of);
    return pattern;
  }
  throw UserError("'" + std::string(text) +
                  "' is no sparsity: write N:M, such as 2:4, or the share of weights that stay, "
                  "such as 0.5");
}

bool PatternFits(const SparsityPattern& pattern, const LinearForm& form) {
  return pattern.keep == 0 || form.inputs / form.taps % pattern.of == 0;
}

std::vector<float> SparsifyRows(std::span<const float> rows, const LinearForm& form,
                                const SparsityPattern& pattern, std::span<const double> gram,
                                int threads) {
  const Eigen::Index inputs = form.inputs;
  Check(PatternFits(pattern, form) && std::ssize(gram) == inputs * inputs,
        "a pattern that fits the rows");
  const std::vector<Eigen::Index> order = ByTap(form);
  const Mask mask(pattern, inputs);
  const Eigen::Map<const RowMatrix> given(rows.data(), std::ssize(rows) / inputs, inputs);
  const Matrix weights = given.cast<double>()(Eigen::all, order);
  const Matrix moments = Eigen::Map<const Matrix>(gram.data(), inputs, inputs)(order, order);
  // The largest magnitudes are the fallback if the moments have no inverse, and the bound that
  // compensation must beat.
  Matrix taken = KeepLargest(weights, mask);
  std::vector<Eigen::Index> all(order.size());
  std::iota(all.begin(), all.end(), Eigen::Index{0});
  const Matrix factor = InverseFactor(moments, all, threads);
  if (factor.allFinite()) {
    const Matrix made_up = MakeUp(weights, mask, factor, threads);
    // The error is computed with the moments as they are: damping is only for the inverse.
    const auto missed = [&](const Matrix& chosen) -> Eigen::VectorXd {
      const Matrix difference = chosen - weights;
      const std::vector<double> errors =
          QuadraticForms(difference.data(), difference.rows(), moments.data(), inputs, threads);
      return Eigen::Map<const Eigen::VectorXd>(errors.data(), difference.rows());
    };
    const Eigen::VectorXd before = missed(taken);
    const Eigen::VectorXd after = missed(made_up);
    // N:M counts zeros in each row, so rows can be chosen one by one. Unstructured zeros are
    // counted over all rows.
    const bool whole = pattern.keep == 0;
    for (Eigen::Index row = 0; row < taken.rows(); ++row) {
      const bool better = whole ? after.sum() < before.sum() : after[row] < before[row];
      if (better) taken.row(row) = made_up.row(row);
    }
  }
  std::vector<float> result(rows.size());
  Eigen::Map<RowMatrix> out(result.data(), given.rows(), inputs);
  for (Eigen::Index i = 0; i < inputs; ++i) {
    out.col(order[static_cast<std::size_t>(i)]) = taken.col(i).cast<float>();
  }
  return result;
}

double ZeroShare(std::span<const float> values) {
  const auto zeros = std::count(values.begin(), values.end(), 0.0F);
  return values.empty() ? 0 : static_cast<double>(zeros) / static_cast<double>(values.size());
}

}  // namespace msc
