#include "agents/gp/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

// Armadillo's own threads would gain nothing at these sizes; see OneThread.
#define ARMA_DONT_USE_OPENMP
#include <armadillo>

#include "agents/common/amounts.h"
#include "agents/gp/one_thread.h"
#include "compiler/base/error.h"

namespace msc::agents {

using gym::Assignment;

namespace {

struct Kernel {
  double graded = 0;    // share of a decision's distance that grows with that of the places
  double pooled = 0;    // share of the linear part common to decisions with the same choices
  double linear = 0.5;  // share of the linear part
  double rate = 3;      // decay rate of the exponential part
  double noise = 0.01;  // noise variance, relative to the variance of the values
};

/// Choices by decision, then point, so that inner loops run over points.
using Columns = std::vector<std::vector<std::int32_t>>;

Columns ToColumns(std::span<const Assignment* const> points, std::size_t decisions) {
  Columns columns(decisions, std::vector<std::int32_t>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t d = 0; d < decisions; ++d) columns[d][i] = (*points[i])[d];
  }
  return columns;
}

/// By decision: weight, number of choices, places of the choices, and the first decision with the
/// same list of choices. Places are 0 to the number of choices - 1: those of amounts by PlacesOf,
/// those of names by index.
struct Relevance {
  std::vector<double> weights;
  std::vector<std::size_t> choices;
  std::vector<std::vector<double>> places;
  std::vector<std::size_t> alike;
};

/// Returns the weighted share of decisions that differ, for all pairs of points. The part `graded`
/// of a decision's weight counts in proportion to the distance of the places, in full only from
/// the first place to the last.
arma::mat Distances(const Columns& a, std::span<const Assignment* const> b,
                    const Relevance& relevance, double graded) {
  const std::size_t count = a.front().size();
  arma::mat distances(count, b.size(), arma::fill::zeros);
  for (std::size_t j = 0; j < b.size(); ++j) {
    double* const sums = distances.colptr(j);
    for (std::size_t d = 0; d < relevance.weights.size(); ++d) {
      const std::int32_t choice = (*b[j])[d];
      // A decision with one choice has no steps; its distance is always 0, and the bound avoids
      // dividing by 0.
      const double steps = static_cast<double>(std::max<std::size_t>(relevance.choices[d], 2) - 1);
      const double whole = (1 - graded) * relevance.weights[d];
      const double step = graded * relevance.weights[d] / steps;
      const std::vector<double>& places = relevance.places[d];
      const double place = places[static_cast<std::size_t>(choice)];
      const std::int32_t* const column = a[d].data();
      for (std::size_t i = 0; i < count; ++i) {
        const double apart = std::abs(places[static_cast<std::size_t>(column[i])] - place);
        sums[i] += column[i] == choice ? 0.0 : whole + step * apart;
      }
    }
  }
  return distances;
}

/// Returns for each point the weights of the decisions that take each choice, summed over decisions
/// with the same list of choices. One row for each choice of each such list, one column per point.
arma::mat Given(std::span<const Assignment* const> points, const Relevance& relevance) {
  std::vector<arma::uword> rows;
  arma::uword count = 0;
  for (std::size_t d = 0; d < relevance.weights.size(); ++d) {
    const bool first = relevance.alike[d] == d;
    rows.push_back(first ? count : rows[relevance.alike[d]]);
    if (first) count += relevance.choices[d];
  }
  arma::mat given(count, points.size(), arma::fill::zeros);
  for (arma::uword j = 0; j < points.size(); ++j) {
    for (std::size_t d = 0; d < rows.size(); ++d) {
      given(rows[d] + static_cast<arma::uword>((*points[j])[d]), j) += relevance.weights[d];
    }
  }
  return given;
}

/// Returns the similarity of the effects of each two rows of Given: 1 for the same choice, else, as
/// in Distances, by the share `graded` and the distance of the places.
arma::mat Likeness(const Relevance& relevance, double graded) {
  std::vector<std::pair<std::size_t, std::size_t>> rows;  // kind of decision, choice
  for (std::size_t d = 0; d < relevance.weights.size(); ++d) {
    if (relevance.alike[d] != d) continue;
    for (std::size_t i = 0; i < relevance.choices[d]; ++i) rows.emplace_back(d, i);
  }
  arma::mat likeness(rows.size(), rows.size(), arma::fill::eye);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[i].first != rows[j].first) continue;
      const auto steps = static_cast<double>(relevance.choices[rows[i].first] - 1);
      const std::vector<double>& places = relevance.places[rows[i].first];
      const double apart = std::abs(places[rows[i].second] - places[rows[j].second]);
      likeness(i, j) = likeness(j, i) = graded * (1 - apart / steps);
    }
  }
  return likeness;
}

arma::mat Covariances(const Kernel& kernel, const arma::mat& distances, const arma::mat& shared) {
  return kernel.linear * ((1 - kernel.pooled) * (1 - distances) + kernel.pooled * shared) +
         (1 - kernel.linear) * arma::exp(-kernel.rate * distances);
}

/// Returns the lower Cholesky factor of the covariance with noise; empty if it is not positive
/// definite.
arma::mat Factor(arma::mat covariance, double noise) {
  covariance.diag() += noise;
  arma::mat lower;
  if (!arma::chol(lower, covariance, "lower")) lower.reset();
  return lower;
}

/// Returns the log marginal likelihood with the best scale, up to a constant.
double LogLikelihood(const arma::mat& lower, const arma::vec& values) {
  if (lower.is_empty()) return -std::numeric_limits<double>::infinity();
  // The squared norm of `white` is values' K^-1 values, and log det K is twice the sum of the
  // logarithms of the diagonal of `lower`. The best scale is that norm / n (profile likelihood).
  const arma::vec white = arma::solve(arma::trimatl(lower), values);
  const auto n = static_cast<double>(values.n_elem);
  // The lower bound keeps the logarithm finite if all values are equal.
  const double scale = std::max(arma::dot(white, white) / n, 1e-12);
  return -0.5 * n * std::log(scale) - arma::sum(arma::log(lower.diag()));
}

/// A kernel and its log marginal likelihood.
struct Fit {
  Kernel kernel;
  double likelihood = -std::numeric_limits<double>::infinity();
};

/// Returns the best kernel of a grid for one value of `graded`, with which `distances` and `shared`
/// were computed.
Fit BestFit(double graded, bool shares, const arma::mat& distances, const arma::mat& shared,
            const arma::vec& values) {
  Fit best;
  // Distances are at most 1, so assignments that differ everywhere have correlation 0.14 or 0.002.
  for (const double rate : {2.0, 6.0}) {
    const arma::mat falling = arma::exp(-rate * distances);
    for (const double linear : {0.3, 0.7, 0.95}) {
      for (const double pooled : {0.0, 0.5, 0.8, 0.95}) {
        if (pooled > 0 && !shares) continue;
        const arma::mat covariance =
            linear * ((1 - pooled) * (1 - distances) + pooled * shared) + (1 - linear) * falling;
        // The eigenvalues of the covariance sum to at most the number of points, so the least noise
        // keeps its condition number below 1e4 times that number.
        for (const double noise : {1e-4, 1e-2, 1e-1}) {
          const double likelihood = LogLikelihood(Factor(covariance, noise), values);
          if (likelihood > best.likelihood) {
            best = {{graded, pooled, linear, rate, noise}, likelihood};
          }
        }
      }
    }
  }
  return best;
}

Kernel BestKernel(std::span<const Assignment* const> at, const arma::vec& values,
                  const Relevance& relevance) {
  // A subset of the points gives about the same kernel as all of them.
  constexpr std::size_t kMaxPoints = 64;
  std::vector<const Assignment*> some;
  std::vector<arma::uword> places;
  const auto step = std::max<std::size_t>(1, at.size() / kMaxPoints);
  for (std::size_t i = 0; i < at.size(); i += step) {
    some.push_back(at[i]);
    places.push_back(i);
  }
  const std::size_t decisions = relevance.weights.size();
  const Columns columns = ToColumns(some, decisions);
  const arma::mat given = Given(some, relevance);
  const arma::vec part = values.elem(arma::uvec(places));
  // With two choices per decision grading changes no distance, and without decisions that have the
  // same choices there is nothing to pool.
  const bool grades = std::any_of(relevance.choices.begin(), relevance.choices.end(),
                                  [](std::size_t choices) { return choices > 2; });
  bool shares = false;
  for (std::size_t d = 0; d < decisions; ++d) shares = shares || relevance.alike[d] != d;
  Fit best;
  for (const double graded : {0.0, 0.8}) {
    if (graded > 0 && !grades) continue;
    const Fit fit = BestFit(graded, shares, Distances(columns, some, relevance, graded),
                            given.t() * Likeness(relevance, graded) * given, part);
    if (fit.likelihood > best.likelihood) best = fit;
  }
  return best.kernel;
}

}  // namespace

double Median(const Prediction& expected) {
  return std::isfinite(expected.floor) ? expected.floor + std::exp(expected.mean) : expected.mean;
}

struct GaussianProcess::State {
  Columns columns;
  arma::mat distances;  // between the observed points
  arma::mat given;      // Given of the observed points
  arma::mat likeness;   // Likeness of the rows of `given`
  Relevance relevance;
  Kernel kernel;
  double mean = 0;
  double scale = 1;  // standard deviation; kernel and values are relative to it
  arma::vec values;  // observed values, centred and divided by `scale`
  arma::mat lower;
  arma::vec solved;  // inverse covariance times values
  double log_likelihood = 0;

  void Solve() {
    const arma::mat covariance = Covariances(kernel, distances, given.t() * likeness * given);
    lower = Factor(covariance, kernel.noise);
    // Rounding can make the covariance of nearly equal points indefinite: raise the noise.
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
  for (const gym::Decision& decision : decisions) {
    state.relevance.choices.push_back(decision.choices.size());
    const auto alike = std::find_if(decisions.begin(), decisions.end(), [&](const auto& other) {
      return other.choices == decision.choices && other.values == decision.values;
    });
    std::vector<double>& places = state.relevance.places.emplace_back(PlacesOf(decision));
    for (double& place : places) place *= static_cast<double>(decision.choices.size() - 1);
    if (places.empty()) {
      places.resize(decision.choices.size());
      std::iota(places.begin(), places.end(), 0.0);
    }
    state.relevance.alike.push_back(static_cast<std::size_t>(alike - decisions.begin()));
  }
  const double total = std::accumulate(relevance.begin(), relevance.end(), 0.0);
  Check(total > 0, "some decision is relevant");
  for (const double value : relevance) state.relevance.weights.push_back(value / total);
  arma::vec raw(values.size());
  std::copy(values.begin(), values.end(), raw.begin());
  state.mean = arma::mean(raw);
  // The lower bound avoids dividing by 0 if all values are equal.
  state.scale = std::max(arma::stddev(raw), 1e-12 * (1 + std::abs(state.mean)));
  state.values = (raw - state.mean) / state.scale;
  state.columns = ToColumns(at, relevance.size());
  state.kernel = BestKernel(at, state.values, state.relevance);
  state.distances = Distances(state.columns, at, state.relevance, state.kernel.graded);
  state.given = Given(at, state.relevance);
  state.likeness = Likeness(state.relevance, state.kernel.graded);
  state.Solve();
  // The values were divided by `scale`. The term makes this the density of the values themselves,
  // so that processes of differently transformed values are comparable.
  state.log_likelihood = LogLikelihood(state.lower, state.values) -
                         static_cast<double>(at.size()) * std::log(state.scale);
  // The lower bound keeps deviations above 0 if all values are equal.
  const double scale = std::sqrt(
      std::max(arma::dot(state.values, state.solved) / static_cast<double>(at.size()), 1e-6));
  // The best scale of the kernel applies to the deviations; means do not depend on it.
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
  state.given = arma::join_rows(state.given, Given({&point, 1}, state.relevance));
  for (std::size_t d = 0; d < assignment.size(); ++d) state.columns[d].push_back(assignment[d]);
  state.values.resize(state.values.n_elem + 1);
  state.values(state.values.n_elem - 1) = mean;
  // The kernel is not fitted again: a value that it predicted itself is no evidence for it.
  state.Solve();
}

double GaussianProcess::log_likelihood() const noexcept {
  return state_->log_likelihood;
}

std::vector<Prediction> GaussianProcess::Predict(std::span<const Assignment* const> points) const {
  const OneThread one;
  const State& state = *state_;
  const arma::mat given = Given(points, state.relevance);
  const arma::mat alike = state.likeness * given;
  const arma::mat across = Covariances(
      state.kernel, Distances(state.columns, points, state.relevance, state.kernel.graded),
      state.given.t() * alike);
  const arma::vec means = across.t() * state.solved;
  const arma::mat white = arma::solve(arma::trimatl(state.lower), across);
  std::vector<Prediction> predictions;
  for (arma::uword i = 0; i < means.n_elem; ++i) {
    // Variance before the observations. Rounding may make the difference below negative; the lower
    // bound keeps the deviation positive, as it is a divisor later.
    const double before =
        1 - state.kernel.linear * state.kernel.pooled * (1 - arma::dot(given.col(i), alike.col(i)));
    const double known = arma::dot(white.col(i), white.col(i));
    const double variance = std::max(before - known, 1e-12) + state.kernel.noise;
    predictions.push_back({state.mean + state.scale * means(i), state.scale * std::sqrt(variance)});
  }
  return predictions;
}

}  // namespace msc::agents
