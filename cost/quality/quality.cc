#include "cost/quality/quality.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"
#include "cost/model/loss.h"
#include "cost/quality/join_boxes.h"

namespace msc::cost {
namespace {

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

/// Returns for each output the labels of one sample that has any.
std::vector<OutputLabels> FirstLabelled(std::span<const OutputLabels> all) {
  std::vector<OutputLabels> first;
  for (const OutputLabels& labels : all) {
    std::int64_t sample = 0;
    const auto is_labelled = [&](std::int64_t i) {
      return std::ranges::any_of(labels.numbers.Of(i), [](float number) { return number >= 0; });
    };
    while (sample + 1 < labels.numbers.size() && !is_labelled(sample)) ++sample;
    OutputLabels& one = first.emplace_back(OutputLabels{labels.output, labels.kind});
    one.numbers.Append(labels.numbers.Of(sample));
  }
  return first;
}

}  // namespace

QualityMeter::QualityMeter(OutputForms forms) : forms_(std::move(forms)), sanity_(forms_.size()) {}

std::optional<Failure> QualityMeter::Add(std::span<const Tensor> reference,
                                         std::span<const Tensor> candidate,
                                         const LabelRows& labels) {
  Check(!reference.empty() && reference.size() == candidate.size() &&
            reference.size() == forms_.size(),
        "a candidate has as many outputs as the reference, and each has a form");
  std::vector<OutputNumbers> wanted;
  std::vector<OutputNumbers> got;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::string name = "output '" + forms_[i].name + "'";
    if (auto failure = CheckOutputs(name, reference[i], candidate[i])) return failure;
    wanted.push_back(NumbersOf(reference[i]));
    got.push_back(NumbersOf(candidate[i]));
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
  AddLabels(p, q, labels, samples);
  samples_ += samples;
  return std::nullopt;
}

void QualityMeter::AddLabels(std::span<const ComparedOutput> p, std::span<const ComparedOutput> q,
                             const LabelRows& rows, std::int64_t samples) {
  for (const OutputLabels& labels : rows.labels) {
    const auto of = std::ranges::find_if(
        p, [&](const ComparedOutput& output) { return output.named.name == labels.output; });
    Check(of != p.end(), "labels are bound to an output");
    const auto index = static_cast<std::size_t>(of - p.begin());
    const OutputMeter& meter = meters_[index];
    LabelMeter& scores = label_meters_.try_emplace(index, labels.kind).first->second;
    const auto each = static_cast<std::size_t>(meter.size());
    for (std::int64_t i = 0; i < samples; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * each;
      scores.Add(meter, std::span(p[index].numbers.values).subspan(at, each),
                 std::span(q[index].numbers.values).subspan(at, each),
                 labels.numbers.Of(rows.first + i));
    }
  }
}

Quality QualityMeter::Total() const {
  Check(samples_ > 0, "quality is asked for after at least one batch");
  Quality total;
  for (const OutputMeter& meter : meters_) total.outputs.push_back(meter.Total());
  total.samples = samples_;
  for (const auto& [index, meter] : label_meters_) meter.AddTo(total.outputs[index]);
  if (const std::optional<Estimate> drop = total.Loss(kAccuracyDrop)) {
    constexpr double kPercent = 100;
    const LabelScore accuracy = *total.Score(kAccuracyDrop);
    total.accuracy = accuracy.value / kPercent;
    total.reference_accuracy = accuracy.reference / kPercent;
    total.accuracy_error = std::min(drop->error / kPercent, 1.0);
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
                                   const LabelRows& labels) {
  std::vector<Tensor> first;
  for (const Tensor& output : outputs) first.push_back(Rows(output, 0, 1));
  QualityMeter meter(forms);
  const std::vector<OutputLabels> labelled = FirstLabelled(labels.labels);
  const auto failure = meter.Add(first, first, {.labels = labelled});
  Check(!failure, "an output agrees with itself");
  std::vector<std::string> names;
  for (const auto& [name, loss] : meter.Total().Losses()) names.push_back(name);
  return names;
}

}  // namespace msc::cost
