#include "agents/gp/mixed_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "agents/common/amounts.h"

namespace msc::agents {

namespace {

constexpr double kFall = 3;         // of additive effects with the squared distance
constexpr double kNamed = 0.2;      // share of a distance of amounts that is that of names
constexpr double kPriorValues = 2;  // weight of the prior of the scale, in values

/// Returns the Matern kernel of smoothness 5/2; `r` is sqrt(5) times the distance.
arma::mat Matern(const arma::mat& r) {
  return (1 + r + r % r / 3) % arma::exp(-r);
}

/// Parameters are the logarithms of the rates, the log odds of `additive` and the logarithm of the
/// noise.
MixedKernel KernelOf(const arma::vec& parameters) {
  const arma::uword count = parameters.n_elem - 2;
  MixedKernel kernel;
  kernel.rates = arma::exp(parameters.head(count));
  kernel.shares = arma::sqrt(kernel.rates);
  kernel.shares /= arma::sum(kernel.shares);
  kernel.additive = 1 / (1 + std::exp(-parameters(count)));
  kernel.noise = std::exp(parameters(count + 1));
  return kernel;
}

/// Independent normal priors of the parameters.
struct Priors {
  arma::vec means;
  arma::vec deviations;
};

Priors PriorsOf(const ChoiceDistances& distances, std::span<const double> relevance) {
  // Two random assignments are about a length scale apart, whatever the number of decisions.
  // Squared distances of amounts are a third or less of those of names on average.
  constexpr double kRate = 2;
  constexpr double kAmount = 3;
  constexpr double kLeastRelevance = 1e-3;
  const auto count = static_cast<double>(relevance.size());
  const double total = std::accumulate(relevance.begin(), relevance.end(), 0.0);
  Priors priors{arma::vec(relevance.size() + 2), arma::vec(relevance.size() + 2)};
  priors.deviations.fill(1.2);
  for (std::size_t i = 0; i < relevance.size(); ++i) {
    const bool amounts = distances[i].n_elem > 4 && distances[i](0, 1) < 1;
    const double relative = std::max(relevance[i] / total * count, kLeastRelevance);
    priors.means(i) = std::log(kRate / count * (amounts ? kAmount : 1) * relative);
  }
  const arma::uword next = relevance.size();
  priors.means(next) = -1;  // a quarter adds up
  priors.deviations(next) = 1.5;
  priors.means(next + 1) = std::log(1e-3);
  priors.deviations(next + 1) = 2;
  return priors;
}

/// The posterior density of parameters given the values.
class Posterior {
 public:
  Posterior(const ChoiceDistances& distances, const ChoiceColumns& columns, const arma::vec& values,
            Priors priors)
      : values_(values), priors_(std::move(priors)) {
    for (std::size_t i = 0; i < distances.size(); ++i) {
      between_.emplace_back(distances[i].submat(columns[i], columns[i]));
      alike_.emplace_back(arma::exp(-kFall * between_.back()));
    }
  }

  /// Returns the log density up to a constant and sets `gradient`; -infinity and a gradient of 0 if
  /// the covariance is not positive definite.
  double At(const arma::vec& parameters, arma::vec& gradient) const {
    const MixedKernel kernel = KernelOf(parameters);
    const arma::uword n = values_.n_elem;
    const arma::uword count = kernel.rates.n_elem;
    arma::mat squares(n, n, arma::fill::zeros);
    arma::mat sum(n, n, arma::fill::zeros);
    for (arma::uword i = 0; i < count; ++i) {
      squares += kernel.rates(i) * between_[i];
      sum += kernel.shares(i) * alike_[i];
    }
    const arma::mat r = arma::sqrt(5 * squares);
    const arma::mat joint = Matern(r);
    arma::mat covariance = kernel.additive * sum + (1 - kernel.additive) * joint;
    covariance.diag() += kernel.noise;
    gradient.zeros(count + 2);
    arma::mat lower;
    if (!arma::chol(lower, covariance, "lower")) return -std::numeric_limits<double>::infinity();
    const arma::mat inverse_lower = arma::inv(arma::trimatl(lower));
    const arma::mat inverse = inverse_lower.t() * inverse_lower;
    const arma::vec solved = inverse * values_;
    const double scale = PosteriorScale(arma::dot(values_, solved), n);
    // The derivative by a parameter is the sum of weight % (derivative of the covariance):
    // Rasmussen and Williams, equation 5.9.
    const arma::mat weight = 0.5 * (solved * solved.t() / scale - inverse);
    const double weight_of_sum = arma::dot(weight, sum);
    // d Matern / d (squared distance) = -5/6 (1 + r) exp(-r)
    const arma::mat slope = -5.0 / 6 * (1 - kernel.additive) * weight % ((1 + r) % arma::exp(-r));
    for (arma::uword i = 0; i < count; ++i) {
      gradient(i) =
          kernel.rates(i) * arma::dot(slope, between_[i]) +
          kernel.additive * kernel.shares(i) / 2 * (arma::dot(weight, alike_[i]) - weight_of_sum);
    }
    gradient(count) =
        kernel.additive * (1 - kernel.additive) * (weight_of_sum - arma::dot(weight, joint));
    gradient(count + 1) = kernel.noise * arma::trace(weight);
    const arma::vec off = (parameters - priors_.means) / priors_.deviations;
    gradient -= off / priors_.deviations;
    return LogDensity(arma::dot(values_, solved), lower) - 0.5 * arma::dot(off, off);
  }

  [[nodiscard]] const Priors& priors() const noexcept { return priors_; }

 private:
  const arma::vec& values_;
  Priors priors_;
  std::vector<arma::mat> between_;  // squared distances of the points, by decision
  std::vector<arma::mat> alike_;
};

/// Climbs from the means of the priors by the signs of the gradient (Rprop without backtracking).
/// Source: C. Igel and M. Huesken, "Improving the Rprop learning algorithm", 2000, section 2.
MixedKernel Climb(const Posterior& posterior) {
  constexpr int kSteps = 40;
  arma::vec at = posterior.priors().means;
  arma::vec best = at;
  double most = -std::numeric_limits<double>::infinity();
  arma::vec step(at.n_elem);
  step.fill(0.3);
  arma::vec before(at.n_elem, arma::fill::zeros);
  arma::vec gradient;
  for (int round = 0; round < kSteps; ++round) {
    const double density = posterior.At(at, gradient);
    if (density > most) {
      most = density;
      best = at;
    }
    for (arma::uword i = 0; i < at.n_elem; ++i) {
      const double turn = gradient(i) * before(i);
      if (turn > 0) step(i) = std::min(1.3 * step(i), 1.0);
      if (turn < 0) {
        step(i) *= 0.5;
        gradient(i) = 0;
      }
      at(i) += step(i) * arma::sign(gradient(i));
    }
    before = gradient;
  }
  MixedKernel kernel = KernelOf(best);
  kernel.log_posterior = most;
  return kernel;
}

}  // namespace

ChoiceDistances DistancesOf(std::span<const gym::Decision> decisions, double named) {
  ChoiceDistances distances;
  for (const gym::Decision& decision : decisions) {
    const arma::uword count = decision.choices.size();
    arma::mat& own = distances.emplace_back(count, count, arma::fill::ones);
    own.diag().zeros();
    const std::vector<double> places = PlacesOf(decision);
    if (places.empty()) continue;
    for (arma::uword i = 0; i < count; ++i) {
      for (arma::uword j = 0; j < count; ++j) {
        const double apart = places[i] - places[j];
        if (i != j) own(i, j) = named + (1 - named) * apart * apart;
      }
    }
  }
  return distances;
}

ChoiceColumns ColumnsOf(std::span<const gym::Assignment* const> points, std::size_t decisions) {
  ChoiceColumns columns(decisions, arma::uvec(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t d = 0; d < decisions; ++d) {
      columns[d](i) = static_cast<arma::uword>((*points[i])[d]);
    }
  }
  return columns;
}

arma::mat MixedKernel::Between(const ChoiceColumns& a, const ChoiceColumns& b) const {
  arma::mat squares(a.front().n_elem, b.front().n_elem, arma::fill::zeros);
  arma::mat sum = squares;
  for (std::size_t d = 0; d < distances.size(); ++d) {
    const arma::mat scaled = rates(d) * distances[d];
    const arma::mat alike = shares(d) * arma::exp(-kFall * distances[d]);
    const arma::uword* const rows = a[d].memptr();
    for (arma::uword j = 0; j < squares.n_cols; ++j) {
      const double* const from_scaled = scaled.colptr(b[d](j));
      const double* const from_alike = alike.colptr(b[d](j));
      double* const to_squares = squares.colptr(j);
      double* const to_sum = sum.colptr(j);
      for (arma::uword i = 0; i < squares.n_rows; ++i) {
        to_squares[i] += from_scaled[rows[i]];
        to_sum[i] += from_alike[rows[i]];
      }
    }
  }
  return additive * sum + (1 - additive) * Matern(arma::sqrt(5 * squares));
}

double PosteriorScale(double squares, std::size_t count) {
  return (squares + kPriorValues) / (static_cast<double>(count) + kPriorValues);
}

double LogDensity(double squares, const arma::mat& lower) {
  const auto count = static_cast<double>(lower.n_rows);
  double density = -0.5 * (count + kPriorValues) * std::log(PosteriorScale(squares, lower.n_rows));
  for (arma::uword i = 0; i < lower.n_rows; ++i) density -= std::log(lower(i, i));
  return density;
}

MixedKernel FitMixedKernel(std::span<const gym::Decision> decisions, const ChoiceColumns& columns,
                           const arma::vec& values, std::span<const double> relevance) {
  const auto more_than_two = [](const gym::Decision& decision) {
    return decision.choices.size() > 2 && !PlacesOf(decision).empty();
  };
  const bool ordered = std::any_of(decisions.begin(), decisions.end(), more_than_two);
  MixedKernel best;
  best.log_posterior = -std::numeric_limits<double>::infinity();
  for (const double named : {0.0, kNamed}) {
    if (named > 0 && !ordered) continue;
    ChoiceDistances distances = DistancesOf(decisions, named);
    MixedKernel kernel =
        Climb(Posterior(distances, columns, values, PriorsOf(distances, relevance)));
    if (!best.distances.empty() && kernel.log_posterior <= best.log_posterior) continue;
    best = std::move(kernel);
    best.distances = std::move(distances);
  }
  return best;
}

}  // namespace msc::agents
