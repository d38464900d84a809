#include "cost/quality/distances.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace msc::cost {
namespace {

/// Computes log(softmax(row)[i]) = row[i] - most - log_sum. The shift by the maximum prevents
/// overflow; log_sum excludes the maximum, so that a large maximum costs no digits.
struct LogSoftmax {
  explicit LogSoftmax(std::span<const double> row)
      : most(*std::max_element(row.begin(), row.end())) {
    double sum = 0;
    for (const double value : row) sum += std::exp(value - most);
    log_sum = std::log(sum);
  }
  [[nodiscard]] double Of(double value) const { return value - most - log_sum; }

  double most;
  double log_sum;
};

/// Returns log(sigmoid(x)) without overflow.
double LogSigmoid(double x) {
  return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
}

double Positive(double probability) {
  return std::max(probability, kLeastProbability);
}

}  // namespace

std::size_t ArgMax(std::span<const double> row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

double LogitsDivergence(std::span<const double> p, std::span<const double> q) {
  const LogSoftmax log_softmax_p(p);
  const LogSoftmax log_softmax_q(q);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = log_softmax_p.Of(p[i]);
    const double log_q = log_softmax_q.Of(q[i]);
    sum += std::exp(log_p) * (log_p - log_q);
  }
  // In exact arithmetic it is not negative.
  return std::max(sum, 0.0);
}

double ProbabilitiesDivergence(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double a = Positive(p[i]);
    const double b = Positive(q[i]);
    // Every term is at least 0, so sums of rounded probabilities do not cancel.
    sum += a * std::log(a / b) - a + b;
  }
  return std::max(sum, 0.0);
}

double LogitDivergence(double p, double q) {
  const double yes = std::exp(LogSigmoid(p)) * (LogSigmoid(p) - LogSigmoid(q));
  const double no = std::exp(LogSigmoid(-p)) * (LogSigmoid(-p) - LogSigmoid(-q));
  return std::max(yes + no, 0.0);
}

double BinaryDivergence(double p, double q) {
  const double yes = Positive(p) * std::log(Positive(p) / Positive(q));
  const double no = Positive(1 - p) * std::log(Positive(1 - p) / Positive(1 - q));
  return std::max(yes + no, 0.0);
}

double CosineDistance(std::span<const double> p, std::span<const double> q) {
  const double pp = std::inner_product(p.begin(), p.end(), p.begin(), 0.0);
  const double qq = std::inner_product(q.begin(), q.end(), q.begin(), 0.0);
  if (pp == 0 || qq == 0) return pp == qq ? 0 : 1;
  const double pq = std::inner_product(p.begin(), p.end(), q.begin(), 0.0);
  return std::clamp(1 - pq / (std::sqrt(pp) * std::sqrt(qq)), 0.0, 2.0);
}

double MeanIou(std::span<const std::int32_t> p, std::span<const std::int32_t> q) {
  struct Counts {
    std::int64_t both = 0;
    std::int64_t either = 0;
  };
  std::vector<Counts> classes;
  const auto at = [&](std::int32_t number) -> Counts& {
    const auto index = static_cast<std::size_t>(number);
    if (index >= classes.size()) classes.resize(index + 1);
    return classes[index];
  };
  for (std::size_t i = 0; i < p.size(); ++i) {
    ++at(p[i]).either;
    if (p[i] == q[i]) {
      ++at(p[i]).both;
    } else {
      ++at(q[i]).either;
    }
  }
  double sum = 0;
  double present = 0;
  for (const Counts& counts : classes) {
    if (counts.either == 0) continue;
    sum += static_cast<double>(counts.both) / static_cast<double>(counts.either);
    present += 1;
  }
  return present > 0 ? sum / present : 1;
}

std::vector<std::int32_t> DecodeCtc(std::span<const std::int32_t> classes, std::int32_t blank) {
  std::vector<std::int32_t> decoded;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const bool repeated = i > 0 && classes[i] == classes[i - 1];
    if (!repeated && classes[i] != blank) decoded.push_back(classes[i]);
  }
  return decoded;
}

std::int64_t EditDistance(std::span<const std::int32_t> p, std::span<const std::int32_t> q) {
  // edits[j]: distance of the part of `p` so far from the first j elements of `q`.
  std::vector<std::int64_t> edits(q.size() + 1);
  std::iota(edits.begin(), edits.end(), 0);
  for (std::size_t i = 0; i < p.size(); ++i) {
    std::int64_t diagonal = edits[0];
    edits[0] = static_cast<std::int64_t>(i) + 1;
    for (std::size_t j = 0; j < q.size(); ++j) {
      const std::int64_t replaced = diagonal + (p[i] == q[j] ? 0 : 1);
      diagonal = edits[j + 1];
      edits[j + 1] = std::min({replaced, edits[j] + 1, edits[j + 1] + 1});
    }
  }
  return edits.back();
}

}  // namespace msc::cost
