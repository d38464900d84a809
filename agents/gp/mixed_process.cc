#include "agents/gp/mixed_process.h"

#include <algorithm>
#include <cmath>

#include "agents/gp/mixed_kernel.h"
#include "agents/gp/one_thread.h"
#include "compiler/base/error.h"

namespace msc::agents {

using gym::Assignment;

struct MixedProcess::State {
  ChoiceColumns columns;
  MixedKernel kernel;
  double mean = 0;
  double scale = 1;      // standard deviation; kernel and values are relative to it
  arma::vec values;      // observed values, centred and divided by `scale`
  arma::mat covariance;  // of the observed points, without noise
  arma::mat lower;
  arma::vec solved;  // inverse covariance times values
  double log_likelihood = 0;

  void Solve() {
    arma::mat noisy = covariance;
    noisy.diag() += kernel.noise;
    // Rounding can make the covariance of nearly equal points indefinite: raise the noise.
    while (!arma::chol(lower, noisy, "lower")) {
      noisy.diag() += 9 * kernel.noise;
      kernel.noise *= 10;
      Check(kernel.noise < 1e6, "a covariance with much noise is positive definite");
    }
    solved = arma::solve(arma::trimatu(lower.t()), arma::solve(arma::trimatl(lower), values));
  }
};

MixedProcess::MixedProcess(std::span<const gym::Decision> decisions,
                           std::span<const Assignment* const> at, std::span<const double> values,
                           std::span<const double> relevance)
    : state_(std::make_unique<State>()) {
  Check(!at.empty() && at.size() == values.size(), "values belong to assignments");
  Check(decisions.size() == relevance.size(), "each decision has a relevance");
  const OneThread one;
  State& state = *state_;
  arma::vec raw(values.size());
  std::copy(values.begin(), values.end(), raw.begin());
  state.mean = arma::mean(raw);
  // The lower bound avoids dividing by 0 if all values are equal.
  state.scale = std::max(arma::stddev(raw), 1e-12 * (1 + std::abs(state.mean)));
  state.values = (raw - state.mean) / state.scale;
  state.columns = ColumnsOf(at, decisions.size());
  // A subset of the points gives about the same kernel as all of them.
  constexpr std::size_t kMaxPoints = 64;
  const auto step = (at.size() + kMaxPoints - 1) / kMaxPoints;
  std::vector<const Assignment*> some;
  std::vector<arma::uword> places;
  for (std::size_t i = 0; i < at.size(); i += step) {
    some.push_back(at[i]);
    places.push_back(i);
  }
  state.kernel = FitMixedKernel(decisions, ColumnsOf(some, decisions.size()),
                                state.values.elem(arma::uvec(places)), relevance);
  state.covariance = state.kernel.Between(state.columns, state.columns);
  state.Solve();
  const double squares = arma::dot(state.values, state.solved);
  // The values were divided by `scale`. The last term makes this the density of the values
  // themselves, so that processes of differently transformed values are comparable.
  state.log_likelihood =
      LogDensity(squares, state.lower) - static_cast<double>(at.size()) * std::log(state.scale);
  const double scale = std::sqrt(PosteriorScale(squares, at.size()));
  // The scale of the kernel applies to the deviations; means do not depend on it.
  state.scale *= scale;
  state.values /= scale;
  state.solved /= scale;
}

MixedProcess::MixedProcess(MixedProcess&&) noexcept = default;
MixedProcess& MixedProcess::operator=(MixedProcess&&) noexcept = default;
MixedProcess::~MixedProcess() = default;

void MixedProcess::Believe(const Assignment& assignment) {
  const OneThread one;
  State& state = *state_;
  const Assignment* const point = &assignment;
  const double mean = (Predict({&point, 1})[0].mean - state.mean) / state.scale;
  const arma::mat to_others =
      state.kernel.Between(state.columns, ColumnsOf({&point, 1}, assignment.size()));
  const arma::uword n = state.values.n_elem;
  state.covariance.resize(n + 1, n + 1);
  state.covariance.submat(0, n, n - 1, n) = to_others;
  state.covariance.submat(n, 0, n, n - 1) = to_others.t();
  state.covariance(n, n) = 1;
  for (std::size_t d = 0; d < assignment.size(); ++d) {
    state.columns[d].resize(n + 1);
    state.columns[d](n) = static_cast<arma::uword>(assignment[d]);
  }
  state.values.resize(n + 1);
  state.values(n) = mean;
  state.Solve();
}

double MixedProcess::log_likelihood() const noexcept {
  return state_->log_likelihood;
}

std::vector<Prediction> MixedProcess::Predict(std::span<const Assignment* const> points) const {
  if (points.empty()) return {};
  const OneThread one;
  const State& state = *state_;
  const arma::mat across =
      state.kernel.Between(state.columns, ColumnsOf(points, state.columns.size()));
  const arma::vec means = across.t() * state.solved;
  const arma::mat white = arma::solve(arma::trimatl(state.lower), across);
  std::vector<Prediction> predictions;
  for (arma::uword i = 0; i < means.n_elem; ++i) {
    // Rounding may make the difference negative; the lower bound keeps the deviation positive, as
    // it is a divisor later. What the kernel takes for noise is mostly the point's own value, which
    // its neighbours do not tell: without it, the rest of a good region would look explored.
    const double known = arma::dot(white.col(i), white.col(i));
    const double variance = std::max(1 - known, 1e-12) + state.kernel.noise;
    predictions.push_back({state.mean + state.scale * means(i), state.scale * std::sqrt(variance)});
  }
  return predictions;
}

}  // namespace msc::agents
