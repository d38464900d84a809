#include "cost/quality/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "cost/model/closeness.h"

namespace msc::cost {

/// Sums over all batches of one output.
struct QualityMeter::Totals {
  double kl = 0;
  double squared_error = 0;
  // Welford's running mean and sum of squared deviations of the reference. The difference of sums
  // of squares would cancel for values far from 0.
  double mean = 0;
  double deviation = 0;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  Closeness closeness;
  double candidate_low = std::numeric_limits<double>::infinity();
  double candidate_high = -std::numeric_limits<double>::infinity();
  std::int64_t values = 0;
  std::int64_t rows = 0;
  std::int64_t agreeing = 0;

  /// Adds a batch. Adds to kl_of and agreeing_of, one number per sample, the means over the rows of
  /// each sample.
  void Add(std::span<const double> p, std::span<const double> q, std::size_t classes,
           std::span<double> kl_of, std::span<double> agreeing_of);
};

namespace {

/// Returns the values of an output as doubles. UserError for other than f32, f64, i32 and i64.
std::vector<double> ToDoubles(const Tensor& tensor) {
  const auto copy = [](const auto values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (tensor.dtype()) {
    case DType::kF32:
      return copy(tensor.Values<float>());
    case DType::kF64:
      return copy(tensor.Values<double>());
    case DType::kI32:
      return copy(tensor.Values<std::int32_t>());
    case DType::kI64:
      return copy(tensor.Values<std::int64_t>());
    default:
      throw UserError("an output of type " + std::string(Name(tensor.dtype())) +
                      " cannot be compared; f32, f64, i32 and i64 can");
  }
}

bool AllFinite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

std::size_t ArgMax(std::span<const double> row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

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

/// Returns KL(softmax(reference) || softmax(candidate)) of one row, in nats. In exact arithmetic it
/// is not negative, so negative rounding errors become 0.
double Divergence(std::span<const double> reference, std::span<const double> candidate) {
  const LogSoftmax log_softmax_p(reference);
  const LogSoftmax log_softmax_q(candidate);
  double sum = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double log_p = log_softmax_p.Of(reference[i]);
    const double log_q = log_softmax_q.Of(candidate[i]);
    sum += std::exp(log_p) * (log_p - log_q);
  }
  return std::max(sum, 0.0);
}

std::string Describe(const Tensor& tensor) {
  return std::string(Name(tensor.dtype())) + ToString(tensor.dims());
}

/// Returns 1 if the row's class is the label, else 0.
std::int64_t Hits(std::span<const double> values, std::size_t classes, std::size_t row,
                  std::int32_t label) {
  const std::size_t best = ArgMax(values.subspan(row * classes, classes));
  return best == static_cast<std::size_t>(label) ? 1 : 0;
}

}  // namespace

QualityMeter::QualityMeter() = default;
QualityMeter::~QualityMeter() = default;

std::optional<Failure> QualityMeter::Add(std::span<const Tensor> reference,
                                         std::span<const Tensor> candidate,
                                         std::span<const std::int32_t> labels) {
  Check(!reference.empty() && reference.size() == candidate.size(),
        "a candidate has as many outputs as the reference, at least one");
  Check(outputs_.empty() || outputs_.size() == reference.size(),
        "every batch has the same number of outputs");
  outputs_.resize(reference.size());
  std::vector<double> kl_of;  // by sample, summed over outputs
  std::vector<double> agreeing_of;
  for (std::size_t index = 0; index < reference.size(); ++index) {
    const Tensor& wanted = reference[index];
    const Tensor& got = candidate[index];
    if (wanted.dtype() != got.dtype() || wanted.dims() != got.dims()) {
      return Failure{FailureKind::kWrongOutput, "output " + std::to_string(index) + " is " +
                                                    Describe(got) + " instead of " +
                                                    Describe(wanted)};
    }
    if (wanted.dims().size() < 2 || wanted.size() == 0) {
      throw UserError("an output of type " + Describe(wanted) +
                      " cannot be compared: it needs rows of classes, [N, ..., C]");
    }
    const std::vector<double> p = ToDoubles(wanted);
    const std::vector<double> q = ToDoubles(got);
    if (!AllFinite(p)) {
      throw UserError("output " + std::to_string(index) +
                      " of the uncompressed model is not finite on these samples");
    }
    if (!AllFinite(q)) {
      return Failure{FailureKind::kWrongOutput,
                     "output " + std::to_string(index) + " is not finite"};
    }
    const auto classes = static_cast<std::size_t>(wanted.dims().back());
    const auto count = static_cast<std::size_t>(wanted.dims()[0]);
    kl_of.resize(std::max(kl_of.size(), count), 0.0);
    agreeing_of.resize(kl_of.size(), 0.0);
    outputs_[index].Add(p, q, classes, std::span(kl_of).first(count),
                        std::span(agreeing_of).first(count));
    // Labels refer to the first output.
    if (index > 0 || labels.empty()) continue;
    if (labels.size() != count || labels.size() * classes != p.size()) {
      throw UserError(std::to_string(labels.size()) + " labels do not fit an output of shape " +
                      ToString(wanted.dims()));
    }
    for (std::size_t row = 0; row < labels.size(); ++row) {
      // A negative label becomes a large number, so one comparison suffices.
      if (static_cast<std::size_t>(labels[row]) >= classes) {
        throw UserError("the label " + std::to_string(labels[row]) +
                        " is not a class of an output of shape " + ToString(wanted.dims()));
      }
      const std::int64_t hit = Hits(q, classes, row, labels[row]);
      const std::int64_t reference_hit = Hits(p, classes, row, labels[row]);
      hits_ += hit;
      reference_hits_ += reference_hit;
      // Paired: only samples on which the models differ add to the error of the drop
      // (docs/decisions/0008).
      gained_.Add(static_cast<double>(hit - reference_hit));
    }
    labelled_ += static_cast<std::int64_t>(labels.size());
  }
  samples_ += reference[0].dims()[0];
  const auto outputs = static_cast<double>(outputs_.size());
  for (const double kl : kl_of) kl_.Add(kl / outputs);
  for (const double agreeing : agreeing_of) agreeing_.Add(agreeing / outputs);
  return std::nullopt;
}

void QualityMeter::Totals::Add(std::span<const double> p, std::span<const double> q,
                               std::size_t classes, std::span<double> kl_of,
                               std::span<double> agreeing_of) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double error = std::abs(q[i] - p[i]);
    squared_error += error * error;
    closeness.Add(p[i], q[i]);
    ++values;
    const double delta = p[i] - mean;
    mean += delta / static_cast<double>(values);
    deviation += delta * (p[i] - mean);
    low = std::min(low, p[i]);
    high = std::max(high, p[i]);
    candidate_low = std::min(candidate_low, q[i]);
    candidate_high = std::max(candidate_high, q[i]);
  }
  const std::size_t each = p.size() / classes / kl_of.size();  // rows per sample
  const double share = 1 / static_cast<double>(each);
  for (std::size_t row = 0; row < kl_of.size() * each; ++row) {
    const auto row_p = p.subspan(row * classes, classes);
    const auto row_q = q.subspan(row * classes, classes);
    const double divergence = Divergence(row_p, row_q);
    const bool agrees = ArgMax(row_p) == ArgMax(row_q);
    kl += divergence;
    kl_of[row / each] += divergence * share;
    agreeing += agrees ? 1 : 0;
    agreeing_of[row / each] += agrees ? share : 0;
    ++rows;
  }
}

double QualityMeter::ErrorOfMean(const Spread& spread) const {
  if (samples_ < 2) return 0;
  const auto count = static_cast<double>(samples_);
  // Rounding can make the difference negative if all samples are equal.
  const double deviation = std::max(0.0, spread.squares - spread.sum * spread.sum / count);
  return std::sqrt(deviation / (count - 1) / count);
}

Quality QualityMeter::Total() const {
  Check(samples_ > 0, "quality is asked for after at least one batch");
  Quality total;
  total.agreement = 0;
  const auto count = static_cast<double>(outputs_.size());
  for (const Totals& output : outputs_) {
    const auto values = static_cast<double>(output.values);
    const auto rows = static_cast<double>(output.rows);
    const double variance = output.deviation / values;
    const double error = output.squared_error / values;
    // A constant reference has no variance to divide by; the mean squared error remains unscaled.
    total.mse += (variance > 0 ? error / variance : error) / count;
    total.kl += output.kl / rows / count;
    total.agreement += static_cast<double>(output.agreeing) / rows / count;
  }
  // Rounding can make sums of shares exceed 1, which readers of outcomes reject.
  total.agreement = std::min(total.agreement, 1.0);
  total.samples = samples_;
  total.kl_error = ErrorOfMean(kl_);
  total.agreement_error = std::min(ErrorOfMean(agreeing_), 1.0);
  if (labelled_ > 0) {
    total.accuracy_error = std::min(ErrorOfMean(gained_), 1.0);
    total.accuracy = static_cast<double>(hits_) / static_cast<double>(labelled_);
    total.reference_accuracy =
        static_cast<double>(reference_hits_) / static_cast<double>(labelled_);
  }
  return total;
}

double QualityMeter::LargestError() const {
  double largest = 0;
  for (const Totals& output : outputs_) largest = std::max(largest, output.closeness.Error());
  return largest;
}

bool QualityMeter::Constant() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const Totals& output) {
    return output.candidate_low == output.candidate_high && output.low < output.high;
  });
}

}  // namespace msc::cost
