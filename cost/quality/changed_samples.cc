#include "cost/quality/changed_samples.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "compiler/base/formatted.h"
#include "compiler/ops/eval.h"
#include "cost/model/loss.h"
#include "cost/quality/distances.h"
#include "cost/quality/join_boxes.h"
#include "cost/quality/output_meter.h"

namespace msc::cost {
namespace {

constexpr std::size_t kMostShown = 24;  // numbers of a decision

/// Returns the numbers of sample `row` of all outputs.
std::vector<OutputNumbers> SampleOf(std::span<const Tensor> outputs, std::int64_t row) {
  std::vector<OutputNumbers> sample;
  for (const Tensor& output : outputs) {
    OutputNumbers& numbers = sample.emplace_back(OutputNumbers{{}, output.dims()});
    numbers.dims[0] = 1;
    const std::int64_t each = output.size() / output.dims()[0];
    numbers.values.reserve(static_cast<std::size_t>(each));
    for (std::int64_t i = 0; i < each; ++i) {
      numbers.values.push_back(NumberAt(output, row * each + i));
    }
  }
  return sample;
}

bool IsNumbers(OutputKind kind) {
  return kind == OutputKind::kRegression || kind == OutputKind::kSeries;
}

/// Returns the loss that a single sample of such an output is measured by.
std::string_view MeasureOf(OutputKind kind, std::string_view wanted, const OutputQuality& total) {
  if (IsNumbers(kind)) return kLargestDifference;
  // The deviation and the neighbours of one sample say nothing.
  if (kind == OutputKind::kEmbedding) return kCosineDistance;
  if (wanted != kRelativeError && total.losses.contains(std::string(wanted))) return wanted;
  return total.losses.contains(std::string(kDistillLoss)) ? kDistillLoss : kDisagreement;
}

double LargestDifference(std::span<const double> p, std::span<const double> q) {
  double largest = 0;
  for (std::size_t i = 0; i < p.size(); ++i) largest = std::max(largest, std::abs(p[i] - q[i]));
  return largest;
}

template <class Number, class Format>
std::string List(std::span<const Number> numbers, const char* between, const Format& format) {
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMostShown); ++i) {
    text += (i == 0 ? "" : between) + format(numbers[i]);
  }
  return numbers.size() > kMostShown ? text + between + "\xE2\x80\xA6" : text;
}

std::string ListOfNumbers(std::span<const double> numbers) {
  return List(numbers, ", ", [](double number) { return Formatted("%.4g", number); });
}

std::string ListOfClasses(const std::vector<std::int32_t>& classes) {
  return List(std::span(classes), " ", [](std::int32_t number) { return std::to_string(number); });
}

/// Fills in what both models decide on a sample.
void TellDecisions(const NamedForm& form, const OutputMeter& meter, std::span<const double> p,
                   std::span<const double> q, ChangedSample& sample) {
  const OutputKind kind = form.form.kind;
  if (meter.choices() == 0) {
    if (kind == OutputKind::kBoxes) return;  // candidates are too many to list
    sample.before = ListOfNumbers(p);
    sample.after = ListOfNumbers(q);
    return;
  }
  std::vector<std::int32_t> before = meter.DecisionsOf(p);
  std::vector<std::int32_t> after = meter.DecisionsOf(q);
  if (kind == OutputKind::kCtc) {
    const auto classes = static_cast<std::int32_t>(meter.choices());
    auto blank = static_cast<std::int32_t>(form.form.blank);
    if (blank < 0) blank += classes;
    before = DecodeCtc(before, blank);
    after = DecodeCtc(after, blank);
  } else if (before.size() > kMostShown) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] == after[i] ? 0 : 1;
    sample.after =
        std::to_string(changed) + " of " + std::to_string(before.size()) + " decisions differ";
    return;
  }
  sample.before = ListOfClasses(before);
  sample.after = ListOfClasses(after);
}

}  // namespace

ChangeMeter::ChangeMeter(OutputForms forms, std::string loss, std::size_t most)
    : forms_(std::move(forms)), loss_(std::move(loss)), most_(most) {}

ChangeMeter::Ranked ChangeMeter::Measure(const NamedForm& form, const Dims& dims,
                                         std::span<const double> p,
                                         std::span<const double> q) const {
  OutputMeter meter(form, dims);
  meter.Add(p, q, 1);
  const OutputQuality total = meter.Total();
  const std::string measure(MeasureOf(form.form.kind, loss_, total));
  const auto loss = [&](std::string_view name) {
    const auto found = total.losses.find(std::string(name));
    return found == total.losses.end() ? 0.0 : found->second.value;
  };
  const double change = measure == kLargestDifference ? LargestDifference(p, q) : loss(measure);
  Ranked ranked{.first = change, .second = loss(kDistillLoss), .sample = {}};
  ranked.sample.output = form.name;
  ranked.sample.measure = measure;
  ranked.sample.change = change;
  TellDecisions(form, meter, p, q, ranked.sample);
  return ranked;
}

void ChangeMeter::Add(std::int64_t first, std::span<const Tensor> reference,
                      std::span<const Tensor> candidate) {
  const auto more = [](const Ranked& a, const Ranked& b) {
    return std::pair(a.first, a.second) > std::pair(b.first, b.second);
  };
  for (std::int64_t row = 0; row < reference[0].dims()[0]; ++row) {
    std::optional<Ranked> most;
    const std::vector<ComparedOutput> p = JoinOutputs(forms_, SampleOf(reference, row));
    const std::vector<ComparedOutput> q = JoinOutputs(forms_, SampleOf(candidate, row));
    for (std::size_t i = 0; i < p.size(); ++i) {
      Ranked ranked =
          Measure(p[i].named, p[i].numbers.dims, p[i].numbers.values, q[i].numbers.values);
      if (!most || more(ranked, *most)) most = std::move(ranked);
    }
    if (!most || (most->first <= 0 && most->second <= 0)) continue;
    most->sample.sample = first + row;
    // Of equal samples the first stays first.
    kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), *most, more), *most);
    if (kept_.size() > most_) kept_.pop_back();
  }
}

std::vector<ChangedSample> ChangeMeter::Largest() const {
  std::vector<ChangedSample> samples;
  samples.reserve(kept_.size());
  for (const Ranked& ranked : kept_) samples.push_back(ranked.sample);
  return samples;
}

}  // namespace msc::cost
