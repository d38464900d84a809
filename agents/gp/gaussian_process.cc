#include "agents/gp/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

// Threads of its own would gain nothing at these sizes, see OneThread.
#define ARMA_DONT_USE_OPENMP
#include <armadillo>

#include <omp.h>

#include "compiler/base/error.h"

namespace msc::agents {

using gym::Assignment;

namespace {

/// Makes a BLAS that is built on OpenMP work in the calling thread alone while this lives: matrices
/// are small, results must not depend on the number of cores, and idle threads that spin would take
/// time from what is being measured.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  int before_;
};

struct Kernel {
  double graded = 0;    // share of a decision's distance that grows with that of its choices
  double linear = 0.5;  // share of the linear part
  double rate = 3;      // of the fall of the other
  double noise = 0.01;  // variance, relative to that of the values
};

/// Choices by decision and point, so that what is done for one decision is done for all points.
using Columns = std::vector<std::vector<std::int32_t>>;

Columns ToColumns(std::span<const Assignment* const> points, std::size_t decisions) {
  Columns columns(decisions, std::vector<std::int32_t>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t d = 0; d < decisions; ++d) columns[d][i] = (*points[i])[d];
  }
  return columns;
}

/// How much each decision counts, and over how many choices.
struct Relevance {
  std::vector<double> weights;
  std::vector<std::size_t> choices;
};

/// Weighted share of decisions that differ, for all pairs. Of a decision's weight, `graded` counts
/// by how far its choices are apart: all of it only from the first to the last.
arma::mat Distances(const Columns& a, std::span<const Assignment* const> b,
                    const Relevance& relevance, double graded) {
  const std::size_t count = a.front().size();
  arma::mat distances(count, b.size(), arma::fill::zeros);
  for (std::size_t j = 0; j < b.size(); ++j) {
    double* const sums = distances.colptr(j);
    for (std::size_t d = 0; d < relevance.weights.size(); ++d) {
      const std::int32_t choice = (*b[j])[d];
      const double steps = static_cast<double>(std::max<std::size_t>(relevance.choices[d], 2) - 1);
      const double whole = (1 - graded) * relevance.weights[d];
      const double step = graded * relevance.weights[d] / steps;
      const std::int32_t* const column = a[d].data();
      for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t apart = std::abs(column[i] - choice);
        sums[i] += apart == 0 ? 0.0 : whole + step * apart;
      }
    }
  }
  return distances;
}

arma::mat Covariances(const Kernel& kernel, const arma::mat& distances) {
  return kernel.linear * (1 - distances) +
         (1 - kernel.linear) * arma::exp(-kernel.rate * distances);
}

/// Lower factor of the covariance with noise; empty if it is not positive definite.
arma::mat Factor(arma::mat covariance, double noise) {
  covariance.diag() += noise;
  arma::mat lower;
  if (!arma::chol(lower, covariance, "lower")) lower.reset();
  return lower;
}

/// Log marginal likelihood with the best scale, up to a constant.
double LogLikelihood(const arma::mat& lower, const arma::vec& values) {
  if (lower.is_empty()) return -std::numeric_limits<double>::infinity();
  const arma::vec white = arma::solve(arma::trimatl(lower), values);
  const double n = static_cast<double>(values.n_elem);
  const double scale = std::max(arma::dot(white, white) / n, 1e-12);
  return -0.5 * n * std::log(scale) - arma::sum(arma::log(lower.diag()));
}

Kernel BestKernel(std::span<const Assignment* const> at, const arma::vec& values,
                  const Relevance& relevance) {
  // Some of the points tell as much about the kernel as all of them.
  constexpr std::size_t kMostPoints = 64;
  std::vector<const Assignment*> some;
  std::vector<arma::uword> places;
  const std::size_t step = std::max<std::size_t>(1, at.size() / kMostPoints);
  for (std::size_t i = 0; i < at.size(); i += step) {
    some.push_back(at[i]);
    places.push_back(i);
  }
  const Columns columns = ToColumns(some, relevance.weights.size());
  const arma::vec part = values.elem(arma::uvec(places));
  // Of two choices the distance is the same either way.
  const bool grades = std::any_of(relevance.choices.begin(), relevance.choices.end(),
                                  [](std::size_t choices) { return choices > 2; });
  Kernel best;
  double most = -std::numeric_limits<double>::infinity();
  for (const double graded : {0.0, 0.8}) {
    if (graded > 0 && !grades) continue;
    const arma::mat distances = Distances(columns, some, relevance, graded);
    for (const double rate : {2.0, 6.0}) {
      const arma::mat falling = arma::exp(-rate * distances);
      for (const double linear : {0.3, 0.7, 0.95}) {
        const arma::mat covariance = linear * (1 - distances) + (1 - linear) * falling;
        for (const double noise : {1e-4, 1e-2, 1e-1}) {
          const double likelihood = LogLikelihood(Factor(covariance, noise), part);
          if (likelihood <= most) continue;
          most = likelihood;
          best = {graded, linear, rate, noise};
        }
      }
    }
  }
  return best;
}

}  // namespace

struct GaussianProcess::State {
  Columns columns;
  arma::mat distances;  // between them
  Relevance relevance;
  Kernel kernel;
  double mean = 0;
  double scale = 1;  // standard deviation that kernel and values are relative to
  arma::vec values;  // without mean, by the scale
  arma::mat lower;
  arma::vec solved;  // inverse covariance times values

  void Solve() {
    const arma::mat covariance = Covariances(kernel, distances);
    lower = Factor(covariance, kernel.noise);
    while (lower.is_empty()) {
      kernel.noise = 10 * kernel.noise;
      Check(kernel.noise < 1e6, "a covariance with much noise is positive definite");
      lower = Factor(covariance, kernel.noise);
    }
    solved = arma::solve(arma::trimatu(lower.t()), arma::solve(arma::trimatl(lower), values));
  }
};

GaussianProcess::GaussianProcess(std::span<const gym::Decision> decisions,
                                 std::span<const Assignment* const> at,
                                 std::span<const double> values, std::span<const double> relevance)
    : state_(std::make_unique<State>()) {
  Check(!at.empty() && at.size() == values.size(), "values belong to assignments");
  Check(decisions.size() == relevance.size(), "each decision has a relevance");
  const OneThread one;
  State& state = *state_;
  double effects = 0;  // that the values decide upon
  for (const gym::Decision& decision : decisions) {
    state.relevance.choices.push_back(decision.choices.size());
    effects += static_cast<double>(decision.choices.size() - 1);
  }
  // Every decision counts a little: that it did nothing so far may be chance. The fewer values, the
  // more so.
  const auto seen = static_cast<double>(at.size());
  const double belief = 0.8 * seen / (seen + effects);
  const double total = std::accumulate(relevance.begin(), relevance.end(), 0.0);
  const auto count = static_cast<double>(relevance.size());
  for (const double value : relevance) {
    const double share = total > 0 ? value / total : 1 / count;
    state.relevance.weights.push_back(belief * share + (1 - belief) / count);
  }
  arma::vec raw(values.size());
  std::copy(values.begin(), values.end(), raw.begin());
  state.mean = arma::mean(raw);
  state.scale = std::max(arma::stddev(raw), 1e-12 * (1 + std::abs(state.mean)));
  state.values = (raw - state.mean) / state.scale;
  state.columns = ToColumns(at, relevance.size());
  state.kernel = BestKernel(at, state.values, state.relevance);
  state.distances = Distances(state.columns, at, state.relevance, state.kernel.graded);
  state.Solve();
  const double scale = std::sqrt(
      std::max(arma::dot(state.values, state.solved) / static_cast<double>(at.size()), 1e-6));
  // The best scale of the kernel belongs to the deviations only; means do not depend on it.
  state.scale *= scale;
  state.values /= scale;
  state.solved /= scale;
}

GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess& GaussianProcess::operator=(GaussianProcess&&) noexcept = default;
GaussianProcess::~GaussianProcess() = default;

void GaussianProcess::Believe(const Assignment& assignment) {
  const OneThread one;
  State& state = *state_;
  const Assignment* point = &assignment;
  const double mean = (Predict({&point, 1})[0].mean - state.mean) / state.scale;
  const arma::mat to_others =
      Distances(state.columns, {&point, 1}, state.relevance, state.kernel.graded);
  const arma::uword n = state.distances.n_rows;
  state.distances.resize(n + 1, n + 1);  // the new row and column are zero
  state.distances.submat(0, n, n - 1, n) = to_others;
  state.distances.submat(n, 0, n, n - 1) = to_others.t();
  for (std::size_t d = 0; d < assignment.size(); ++d) state.columns[d].push_back(assignment[d]);
  state.values.resize(state.values.n_elem + 1);
  state.values(state.values.n_elem - 1) = mean;
  state.Solve();
}

std::vector<Prediction> GaussianProcess::Predict(std::span<const Assignment* const> points) const {
  const OneThread one;
  const State& state = *state_;
  const arma::mat across = Covariances(
      state.kernel, Distances(state.columns, points, state.relevance, state.kernel.graded));
  const arma::vec means = across.t() * state.solved;
  const arma::mat white = arma::solve(arma::trimatl(state.lower), across);
  std::vector<Prediction> predictions;
  for (arma::uword i = 0; i < means.n_elem; ++i) {
    const double variance = 1 - arma::dot(white.col(i), white.col(i));
    predictions.push_back(
        {state.mean + state.scale * means(i), state.scale * std::sqrt(std::max(variance, 1e-12))});
  }
  return predictions;
}

}  // namespace msc::agents
