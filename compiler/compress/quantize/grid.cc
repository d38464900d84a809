#include "compiler/compress/quantize/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <Eigen/Core>

#include "compiler/base/error.h"
#include "compiler/base/parallel.h"
#include "compiler/compress/prune/inverse_factor.h"
#include "compiler/compress/prune/outer_products.h"

namespace msc {
namespace {

using Matrix = Eigen::MatrixXd;
using Moments = Eigen::Map<const Matrix>;
using Vector = Eigen::VectorXd;
using Order = std::vector<Eigen::Index>;

constexpr float kLeastScale = std::numeric_limits<float>::min();
/// Limit of the sweeps of the descent, which normally ends much earlier.
constexpr double kWorkForThreads = 1e7;
constexpr int kMaxSweeps = 100;
/// Fractions of a range that are tried for the best scale: 20/100 to 100/100.
constexpr int kCandidates = 100;

double Level(double value, double least, double most) {
  return std::clamp(std::nearbyint(value), least, most);
}

/// Returns the sum of importance * (w - quantized w)^2.
double RowError(std::span<const float> row, const WeightStep& step,
                std::span<const double> importance) {
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    // The quotient is in double; a float quotient could round across the middle between two levels.
    const double error = row[i] - step.scale * Level(static_cast<double>(row[i]) / step.scale,
                                                     step.least, step.most);
    sum += (importance.empty() ? 1.0 : importance[i]) * error * error;
  }
  return sum;
}

/// Returns a grid with all 2^bits levels from `low` <= 0 to `high` >= 0.
WeightStep StepOver(float low, float high, int bits) {
  const int levels = (1 << bits) - 1;
  if (low == 0.0F && high == 0.0F) return {.scale = 1.0F, .least = 0, .most = levels};
  WeightStep step;
  step.scale = std::max((high - low) / static_cast<float>(levels), kLeastScale);
  // The zero point is an integer, so that 0, as in padding, is exact.
  step.least = -std::clamp(static_cast<int>(std::lround(-low / step.scale)), 0, levels);
  step.most = step.least + levels;
  return step;
}

std::pair<float, float> RangeOf(std::span<const float> row) {
  std::pair<float, float> range{0.0F, 0.0F};
  for (const float weight : row) {
    range = {std::min(range.first, weight), std::max(range.second, weight)};
  }
  return range;
}

Order ByMoment(const Moments& gram) {
  Order order(static_cast<std::size_t>(gram.rows()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  // Inputs with large moments cost most, and are rounded while most weights are left to compensate.
  std::stable_sort(order.begin(), order.end(),
                   [&](Eigen::Index a, Eigen::Index b) { return gram(a, a) > gram(b, b); });
  return order;
}

/// A row while it is rounded, in units of its first scale. `steps` are the grids of equal stretches
/// of it.
class Row {
 public:
  Row(const float* weights, Eigen::Index inputs, std::span<const WeightStep> steps)
      : wanted_(inputs), rounded_(inputs), steps_(inputs), least_(inputs), most_(inputs) {
    const Eigen::Index stretch = inputs / std::ssize(steps);
    const double unit = steps[0].scale;
    // Units of the first scale keep numbers near 1 whatever the magnitude of the layer's weights.
    for (Eigen::Index i = 0; i < inputs; ++i) {
      const WeightStep& step = steps[static_cast<std::size_t>(i / stretch)];
      steps_[i] = static_cast<double>(step.scale) / unit;
      least_[i] = step.least;
      most_[i] = step.most;
      wanted_[i] = static_cast<double>(weights[i]) / unit;
      rounded_[i] = Nearest(wanted_[i], i);
    }
  }

  void Descend(const Moments& gram) {
    // Half the gradient of (rounded - wanted)^T gram (rounded - wanted).
    Vector slope = gram * (rounded_ - wanted_);
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      bool moved = false;
      for (Eigen::Index i = 0; i < rounded_.size(); ++i) {
        const double own = gram(i, i);
        // An input that is always 0 contributes nothing, whatever its level.
        if (!(own > 0)) continue;
        // The exact minimum of the quadratic along one weight; rounding it to the grid is the best
        // level, as a parabola is symmetric about its minimum.
        const double better = Nearest(rounded_[i] - slope[i] / own, i);
        const double step = better - rounded_[i];
        // Ignore gains as small as rounding errors: the next sweeps could undo and repeat them.
        const double gain = -step * (2 * slope[i] + step * own);
        if (step == 0 || !(gain > 1e-9 * own * steps_[i] * steps_[i])) continue;
        rounded_[i] = better;
        // One column of the matrix updates the whole slope, in O(inputs) instead of O(inputs^2).
        slope.noalias() += step * gram.col(i);
        moved = true;
      }
      if (!moved) return;
    }
  }

  [[nodiscard]] const Vector& wanted() const { return wanted_; }
  [[nodiscard]] const Vector& rounded() const { return rounded_; }
  /// Replaces what the row is rounded to, which is on the grid.
  void SetRounded(Vector rounded) { rounded_ = std::move(rounded); }
  /// Returns the level nearest to a value of input `i`, in units of the first scale.
  [[nodiscard]] double Nearest(double value, Eigen::Index i) const {
    return Level(value / steps_[i], least_[i], most_[i]) * steps_[i];
  }
  [[nodiscard]] double LevelAt(Eigen::Index i) const {
    return std::nearbyint(rounded_[i] / steps_[i]);
  }

 private:
  Vector wanted_;
  Vector rounded_;
  Vector steps_;
  Vector least_;
  Vector most_;
};

/// Rounds rows together by GPTQ, so that each part of the factor is read once for all of them. A
/// row keeps what it is rounded to if that has a smaller error.
/// Source: Frantar et al. 2022, algorithm 1.
void RoundByGptq(std::span<Row> rows, const Moments& moments, const Matrix& factor,
                 const Order& order) {
  constexpr Eigen::Index kBlock = 64;
  const auto inputs = static_cast<Eigen::Index>(order.size());
  const auto count = static_cast<Eigen::Index>(rows.size());
  Matrix left(count, inputs);  // in this order; what is still to be rounded
  Matrix made(count, inputs);
  for (Eigen::Index i = 0; i < inputs; ++i) {
    const Eigen::Index at = order[static_cast<std::size_t>(i)];
    for (Eigen::Index r = 0; r < count; ++r) {
      left(r, i) = rows[static_cast<std::size_t>(r)].wanted()[at];
    }
  }
  Matrix errors(count, kBlock);  // negative
  for (Eigen::Index first = 0; first < inputs; first += kBlock) {
    const Eigen::Index end = std::min(first + kBlock, inputs);
    for (Eigen::Index i = first; i < end; ++i) {
      const Eigen::Index at = order[static_cast<std::size_t>(i)];
      for (Eigen::Index r = 0; r < count; ++r) {
        made(r, at) = rows[static_cast<std::size_t>(r)].Nearest(left(r, i), at);
      }
      // The later inputs compensate for the rounding error as well as they can (equation 2).
      errors.col(i - first) = (made.col(at) - left.col(i)) / factor(i, i);
      const Eigen::Index rest = end - i - 1;
      left.middleCols(i + 1, rest).noalias() +=
          errors.col(i - first) * factor.col(i).segment(i + 1, rest).transpose();
    }
    // Those outside of the block do so once for all of it, which is a product of matrices.
    if (end == inputs) break;
    AddProducts(Panels(errors.data(), end - first, count, count, 1),
                Panels(&factor(end, first), end - first, inputs - end, inputs, 1), false, 1,
                &left(0, end));
  }
  // What GPTQ leaves of all rows, then what the nearest levels leave.
  Matrix& missed = left;
  missed.resize(2 * count, inputs);
  for (Eigen::Index r = 0; r < count; ++r) {
    const Row& row = rows[static_cast<std::size_t>(r)];
    missed.row(r) = made.row(r).transpose() - row.wanted();
    missed.row(count + r) = row.rounded() - row.wanted();
  }
  const std::vector<double> errors_of =
      QuadraticForms(missed.data(), 2 * count, moments.data(), inputs, 1);
  for (Eigen::Index r = 0; r < count; ++r) {
    if (!(errors_of[static_cast<std::size_t>(r)] <
          errors_of[static_cast<std::size_t>(count + r)])) {
      continue;
    }
    rows[static_cast<std::size_t>(r)].SetRounded(made.row(r));
  }
}

}  // namespace

float ScaleFor(float largest, int bits) {
  if (largest == 0.0F) return 1.0F;
  return std::max(largest / static_cast<float>(LargestLevel(bits)), kLeastScale);
}

float MaxScale(std::span<const float> row, int bits) {
  float largest = 0.0F;
  for (const float weight : row) largest = std::max(largest, std::abs(weight));
  return ScaleFor(largest, bits);
}

float BestScale(std::span<const float> row, int bits, std::span<const double> importance) {
  const float whole = MaxScale(row, bits);
  float best = whole;
  double least = std::numeric_limits<double>::infinity();
  // From the whole range downwards: among equal errors the range that clips least stays.
  for (int candidate = kCandidates; candidate >= kCandidates / 5; --candidate) {
    const float scale = std::max(whole * static_cast<float>(candidate) / kCandidates, kLeastScale);
    const double sum = RowError(row, SymmetricStep(scale, bits), importance);
    if (sum < least) {
      least = sum;
      best = scale;
    }
  }
  return best;
}

WeightStep SymmetricStep(float scale, int bits) {
  return {.scale = scale, .least = -LargestLevel(bits), .most = LargestLevel(bits)};
}

WeightStep AffineStep(std::span<const float> row, int bits) {
  const auto [low, high] = RangeOf(row);
  return StepOver(low, high, bits);
}

WeightStep BestAffineStep(std::span<const float> row, int bits,
                          std::span<const double> importance) {
  const auto [low, high] = RangeOf(row);
  WeightStep best;
  double least = std::numeric_limits<double>::infinity();
  for (int candidate = kCandidates; candidate >= kCandidates / 5; --candidate) {
    const float part = static_cast<float>(candidate) / kCandidates;
    const WeightStep step = StepOver(low * part, high * part, bits);
    const double sum = RowError(row, step, importance);
    if (sum < least) {
      least = sum;
      best = step;
    }
  }
  return best;
}

std::int64_t ZeroPointOf(const WeightStep& step, int bits) {
  return -(std::int64_t{1} << (bits - 1)) - step.least;
}

std::vector<float> RoundRows(std::span<const float> rows, std::span<const WeightStep> steps,
                             std::span<const double> gram, WeightRounding rounding,
                             std::int64_t groups, int threads) {
  Check(!steps.empty() && rows.size() % steps.size() == 0 && std::ssize(steps) % groups == 0,
        "rows are all of one length");
  const auto inputs = static_cast<Eigen::Index>(rows.size() / steps.size()) * groups;
  const auto per_row = static_cast<std::size_t>(groups);
  const bool reads = rounding != WeightRounding::kNearest;
  Check(!reads || std::ssize(gram) == inputs * inputs, "second moments are those of the inputs");
  const Moments moments(gram.data(), reads ? inputs : 0, reads ? inputs : 0);
  Matrix factor;
  Order order;
  if (reads) {
    order = ByMoment(moments);
    factor = InverseFactor(moments, order, threads);
  }
  // A factor that is not finite means that the moments have no inverse even with damping.
  const bool fits = reads && factor.allFinite();
  // Rows are independent: they share inputs, and the square error is the sum over rows. So many
  // rows at a time are rounded together, each in the same way whatever their number: what they
  // share is read once, and each thread gets some.
  constexpr std::size_t kLeastTogether = 32;
  constexpr std::size_t kMostTogether = 256;
  const std::size_t count = steps.size() / per_row;
  const std::size_t together_most = std::clamp(
      count / (2 * static_cast<std::size_t>(std::max(threads, 1))), kLeastTogether, kMostTogether);
  std::vector<float> rounded(rows.size());
  const auto round = [&](std::size_t part) {
    std::vector<Row> together;
    const std::size_t first = part * together_most;
    const std::size_t end = std::min(first + together_most, count);
    for (std::size_t r = first; r < end; ++r) {
      together.emplace_back(rows.data() + static_cast<std::int64_t>(r) * inputs, inputs,
                            steps.subspan(r * per_row, per_row));
    }
    if (fits) RoundByGptq(together, moments, factor, order);
    for (std::size_t r = first; r < end; ++r) {
      Row& row = together[r - first];
      if (rounding == WeightRounding::kDescent) row.Descend(moments);
      for (Eigen::Index i = 0; i < inputs; ++i) {
        const auto stretch = static_cast<std::size_t>(i / (inputs / groups));
        rounded[r * static_cast<std::size_t>(inputs) + static_cast<std::size_t>(i)] =
            static_cast<float>(row.LevelAt(i)) * steps[r * per_row + stretch].scale;
      }
    }
  };
  // A thread costs more than it gains on a few rows of few inputs.
  const double work = static_cast<double>(rows.size()) * static_cast<double>(inputs);
  const bool alone = rounding == WeightRounding::kNearest || work < kWorkForThreads;
  ForEachOnThreads(alone ? 1 : threads, (count + together_most - 1) / together_most, round);
  return rounded;
}

double ProductError(const Product& product, float range, int steps, int bits) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Rows> x(product.x.data(), std::ssize(product.x) / product.inputs,
                                 product.inputs);
  const Eigen::Map<const Rows> w(product.w.data(), std::ssize(product.w) / product.inputs,
                                 product.inputs);
  const float step = std::max(range / static_cast<float>(steps), kLeastScale);
  const auto most = static_cast<float>(steps);
  const Rows x_rounded = x.unaryExpr(
      [&](float value) { return std::clamp(std::nearbyint(value / step), -most, most) * step; });
  Rows w_rounded(w.rows(), w.cols());
  for (Eigen::Index r = 0; r < w.rows(); ++r) {
    const float scale = MaxScale(product.w.subspan(static_cast<std::size_t>(r * product.inputs),
                                                   static_cast<std::size_t>(product.inputs)),
                                 bits);
    w_rounded.row(r) =
        w.row(r).unaryExpr([&](float value) { return std::nearbyint(value / scale) * scale; });
  }
  const Rows wanted = x * w.transpose();
  // Sums of squares are in double, as the difference of two near floats is small beside each.
  const double whole = wanted.cast<double>().squaredNorm();
  if (!(whole > 0)) return 0;
  const Rows got = x_rounded * w_rounded.transpose();
  return (wanted - got).cast<double>().squaredNorm() / whole;
}

}  // namespace msc
