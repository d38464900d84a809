#include "cost/quality/quality.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/pipeline/batch.h"
#include "cost/quality/join_boxes.h"

namespace msc::cost {
namespace {

/// Returns the values of an output as doubles. UserError for strings and complex numbers.
std::vector<double> ToDoubles(const Tensor& tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(tensor.size()));
  const auto copy = [&](const auto values) { std::ranges::copy(values, numbers.begin()); };
  switch (tensor.dtype()) {
    case DType::kF32:
      copy(tensor.Values<float>());
      break;
    case DType::kF64:
      copy(tensor.Values<double>());
      break;
    case DType::kI64:
      copy(tensor.Values<std::int64_t>());
      break;
    case DType::kUndefined:
    case DType::kString:
    case DType::kC64:
    case DType::kC128:
      throw UserError("an output of type " + std::string(Name(tensor.dtype())) +
                      " cannot be compared; numbers can");
    default:
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = NumberAt(tensor, static_cast<std::int64_t>(i));
      }
  }
  return numbers;
}

bool AllFinite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

std::string Describe(const Tensor& tensor) {
  return std::string(Name(tensor.dtype())) + ToString(tensor.dims());
}

/// Returns why the outputs cannot be compared, if that is the candidate's fault; UserError if it is
/// not.
std::optional<Failure> CheckOutputs(const std::string& name, const Tensor& reference,
                                    const Tensor& candidate) {
  if (reference.dtype() != candidate.dtype() || reference.dims() != candidate.dims()) {
    return Failure{FailureKind::kWrongOutput,
                   name + " is " + Describe(candidate) + " instead of " + Describe(reference)};
  }
  if (reference.dims().empty()) throw UserError(name + " has no axis of samples");
  if (reference.size() == 0) {
    throw UserError(name + ", " + Describe(reference) + ", has no numbers");
  }
  return std::nullopt;
}

}  // namespace

QualityMeter::QualityMeter(OutputForms forms) : forms_(std::move(forms)), sanity_(forms_.size()) {}

std::optional<Failure> QualityMeter::Add(std::span<const Tensor> reference,
                                         std::span<const Tensor> candidate,
                                         std::span<const std::int32_t> labels) {
  Check(!reference.empty() && reference.size() == candidate.size() &&
            reference.size() == forms_.size(),
        "a candidate has as many outputs as the reference, and each has a form");
  std::vector<OutputNumbers> wanted;
  std::vector<OutputNumbers> got;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::string name = "output '" + forms_[i].name + "'";
    if (auto failure = CheckOutputs(name, reference[i], candidate[i])) return failure;
    wanted.push_back({ToDoubles(reference[i]), reference[i].dims()});
    got.push_back({ToDoubles(candidate[i]), candidate[i].dims()});
    if (!AllFinite(wanted[i].values)) {
      throw UserError(name + " of the uncompressed model is not finite on these samples");
    }
    if (!AllFinite(got[i].values)) {
      return Failure{FailureKind::kWrongOutput, name + " is not finite"};
    }
    sanity_[i].Add(wanted[i].values, got[i].values);
  }
  const std::int64_t samples = wanted[0].dims[0];
  const std::vector<ComparedOutput> p = JoinOutputs(forms_, std::move(wanted));
  const std::vector<ComparedOutput> q = JoinOutputs(forms_, std::move(got));
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (meters_.size() == i) meters_.emplace_back(p[i].named, p[i].numbers.dims);
    meters_[i].SetDims(p[i].numbers.dims);
    meters_[i].Add(p[i].numbers.values, q[i].numbers.values, samples);
  }
  if (!labels.empty()) AddLabels(p[0], q[0], labels);
  samples_ += samples;
  return std::nullopt;
}

void QualityMeter::AddLabels(const ComparedOutput& p, const ComparedOutput& q,
                             std::span<const std::int32_t> labels) {
  const OutputMeter& meter = meters_[0];
  const std::string output = "output '" + p.named.name + "' (" + FormatForm(p.named.form) + ")";
  const auto each = static_cast<std::size_t>(meter.size());
  if (meter.choices() == 0 || labels.size() * each != p.numbers.values.size()) {
    throw UserError(std::to_string(labels.size()) + " class numbers do not fit " + output);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= meter.choices()) {
      throw UserError("the label " + std::to_string(labels[i]) + " is not a class of " + output +
                      ", which tells " + std::to_string(meter.choices()) + " apart");
    }
    const auto decision_of = [&](std::span<const double> all) {
      const std::vector<std::int32_t> decisions = meter.DecisionsOf(all.subspan(i * each, each));
      if (decisions.size() == 1) return decisions[0];
      throw UserError("one class number for each sample does not fit " + output + ", which makes " +
                      std::to_string(decisions.size()) + " decisions for each");
    };
    const std::int64_t hit = decision_of(q.numbers.values) == labels[i] ? 1 : 0;
    const std::int64_t reference_hit = decision_of(p.numbers.values) == labels[i] ? 1 : 0;
    hits_ += hit;
    reference_hits_ += reference_hit;
    // Paired: only samples on which the models differ add to the error of the drop
    // (docs/decisions/0008).
    gained_.Add(static_cast<double>(hit - reference_hit));
  }
  labelled_ += static_cast<std::int64_t>(labels.size());
}

Quality QualityMeter::Total() const {
  Check(samples_ > 0, "quality is asked for after at least one batch");
  Quality total;
  for (const OutputMeter& meter : meters_) total.outputs.push_back(meter.Total());
  total.samples = samples_;
  if (labelled_ > 0) {
    total.accuracy_error = std::min(gained_.Total().error, 1.0);
    total.accuracy = static_cast<double>(hits_) / static_cast<double>(labelled_);
    total.reference_accuracy =
        static_cast<double>(reference_hits_) / static_cast<double>(labelled_);
  }
  return total;
}

void QualityMeter::Sanity::Add(std::span<const double> p, std::span<const double> q) {
  const auto widen = [&](std::span<const double> values, double& least, double& most) {
    const auto [from, to] = std::ranges::minmax(values);
    least = empty ? from : std::min(least, from);
    most = empty ? to : std::max(most, to);
  };
  widen(p, low, high);
  widen(q, candidate_low, candidate_high);
  for (std::size_t i = 0; i < p.size(); ++i) closeness.Add(p[i], q[i]);
  empty = false;
}

double QualityMeter::LargestError() const {
  double largest = 0;
  for (const Sanity& check : sanity_) largest = std::max(largest, check.closeness.Error());
  return largest;
}

bool QualityMeter::Constant() const {
  return std::ranges::any_of(sanity_, [](const Sanity& check) {
    return check.candidate_low == check.candidate_high && check.low < check.high;
  });
}

std::vector<std::string> LossNames(const OutputForms& forms, std::span<const Tensor> outputs,
                                   std::span<const std::int32_t> labels) {
  std::vector<Tensor> first;
  for (const Tensor& output : outputs) first.push_back(Rows(output, 0, 1));
  QualityMeter meter(forms);
  const auto failure =
      meter.Add(first, first, labels.first(std::min<std::size_t>(labels.size(), 1)));
  Check(!failure, "an output agrees with itself");
  std::vector<std::string> names;
  for (const auto& [name, loss] : meter.Total().Losses()) names.push_back(name);
  return names;
}

}  // namespace msc::cost
