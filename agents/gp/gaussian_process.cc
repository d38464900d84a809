#include "agents/gp/gaussian_process.h"

#include <algorithm>
#include <cmath>
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

/// Weighted share of decisions that differ, for all pairs.
arma::mat Distances(const Columns& a, std::span<const Assignment* const> b,
                    const std::vector<double>& weights) {
  const std::size_t count = a.front().size();
  arma::mat distances(count, b.size(), arma::fill::zeros);
  for (std::size_t j = 0; j < b.size(); ++j) {
    double* const sums = distances.colptr(j);
    for (std::size_t d = 0; d < weights.size(); ++d) {
      const std::int32_t choice = (*b[j])[d];
      const double weight = weights[d];
      const std::int32_t* const column = a[d].data();
      for (std::size_t i = 0; i < count; ++i) {
        sums[i] += column[i] == choice ? 0.0 : weight;
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
arma::mat Factor(const Kernel& kernel, const arma::mat& distances) {
  arma::mat covariance = Covariances(kernel, distances);
  covariance.diag() += kernel.noise;
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

Kernel BestKernel(const arma::mat& distances, const arma::vec& values) {
  // Some of the points tell as much about the kernel as all of them.
  constexpr arma::uword kMostPoints = 64;
  const arma::uword n = values.n_elem;
  const arma::uvec some =
      arma::regspace<arma::uvec>(0, std::max<arma::uword>(1, n / kMostPoints), n - 1);
  const arma::mat part = distances.submat(some, some);
  const arma::vec part_values = values.elem(some);
  Kernel best;
  double most = -std::numeric_limits<double>::infinity();
  for (const double linear : {0.3, 0.7, 0.95}) {
    for (const double rate : {2.0, 6.0}) {
      for (const double noise : {1e-4, 1e-2, 1e-1}) {
        const Kernel kernel{linear, rate, noise};
        const double likelihood = LogLikelihood(Factor(kernel, part), part_values);
        if (likelihood <= most) continue;
        most = likelihood;
        best = kernel;
      }
    }
  }
  return best;
}

}  // namespace

struct GaussianProcess::State {
  Columns columns;
  arma::mat distances;  // between them
  std::vector<double> weights;
  Kernel kernel;
  double mean = 0;
  double scale = 1;  // standard deviation that kernel and values are relative to
  arma::vec values;  // without mean, by the scale
  arma::mat lower;
  arma::vec solved;  // inverse covariance times values

  void Solve() {
    lower = Factor(kernel, distances);
    while (lower.is_empty()) {
      kernel.noise = 10 * kernel.noise;
      Check(kernel.noise < 1e6, "a covariance with much noise is positive definite");
      lower = Factor(kernel, distances);
    }
    solved = arma::solve(arma::trimatu(lower.t()), arma::solve(arma::trimatl(lower), values));
  }
};

GaussianProcess::GaussianProcess(std::span<const Assignment* const> at,
                                 std::span<const double> values, std::span<const double> relevance)
    : state_(std::make_unique<State>()) {
  Check(!at.empty() && at.size() == values.size(), "values belong to assignments");
  const OneThread one;
  State& state = *state_;
  // Every decision counts a little: that it did nothing so far may be chance.
  const double total = std::accumulate(relevance.begin(), relevance.end(), 0.0);
  const auto count = static_cast<double>(relevance.size());
  for (const double value : relevance) {
    const double share = total > 0 ? value / total : 1 / count;
    state.weights.push_back(0.8 * share + 0.2 / count);
  }
  arma::vec raw(values.size());
  std::copy(values.begin(), values.end(), raw.begin());
  state.mean = arma::mean(raw);
  state.scale = std::max(arma::stddev(raw), 1e-12 * (1 + std::abs(state.mean)));
  state.values = (raw - state.mean) / state.scale;
  state.columns = ToColumns(at, relevance.size());
  state.distances = Distances(state.columns, at, state.weights);
  state.kernel = BestKernel(state.distances, state.values);
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
  const arma::mat to_others = Distances(state.columns, {&point, 1}, state.weights);
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
  const arma::mat across =
      Covariances(state.kernel, Distances(state.columns, points, state.weights));
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
