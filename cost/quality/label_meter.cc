#include "cost/quality/label_meter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "compiler/base/error.h"
#include "cost/model/loss.h"
#include "cost/quality/boxes.h"
#include "cost/quality/distances.h"

namespace msc::cost {
namespace {

constexpr std::size_t kBoxNumbers = 5;  // x0, y0, x1, y1, class

void CheckCount(std::size_t labels, std::int64_t wanted) {
  if (static_cast<std::int64_t>(labels) == wanted) return;
  throw UserError("a sample has " + std::to_string(labels) + " labels for the " +
                  std::to_string(wanted) + " decisions or numbers of its output");
}

/// Renumbers the classes of both from 0, so that large numbers take no memory.
void Renumber(std::vector<std::int32_t>& a, std::vector<std::int32_t>& b) {
  std::map<std::int32_t, std::int32_t> numbers;
  for (std::vector<std::int32_t>* side : {&a, &b}) {
    for (std::int32_t& number : *side) {
      number = numbers.emplace(number, static_cast<std::int32_t>(numbers.size())).first->second;
    }
  }
}

double IouOf(std::vector<std::int32_t> labels, std::vector<std::int32_t> decisions) {
  Renumber(labels, decisions);
  return MeanIou(labels, decisions);
}

double ShareOf(const std::vector<std::int32_t>& labels,
               const std::vector<std::int32_t>& decisions) {
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += labels[i] == decisions[i] ? 1 : 0;
  return right / static_cast<double>(labels.size());
}

/// Returns whether a lower score is better.
bool IsError(std::string_view loss) {
  return loss == kEditDistanceRise || loss == kRelativeErrorRise;
}

}  // namespace

void LabelMeter::Pair::Add(double of_reference, double of_value) {
  reference += of_reference;
  value += of_value;
  difference.Add(of_value - of_reference);
}

void LabelMeter::Add(const OutputMeter& meter, std::span<const double> wanted,
                     std::span<const double> got, std::span<const float> labels) {
  switch (kind_) {
    case LabelKind::kClasses:
    case LabelKind::kMaps:
      return AddDecisions(meter, wanted, got, labels);
    case LabelKind::kValues:
      return AddValues(meter, wanted, got, labels);
    case LabelKind::kSequences:
      return AddSequence(meter, wanted, got, labels);
    case LabelKind::kBoxes:
      break;
  }
  AddBoxes(meter, wanted, got, labels);
}

void LabelMeter::AddDecisions(const OutputMeter& meter, std::span<const double> wanted,
                              std::span<const double> got, std::span<const float> labels) {
  CheckCount(labels.size(), meter.decisions());
  const std::vector<std::int32_t> before = meter.DecisionsOf(wanted);
  const std::vector<std::int32_t> after = meter.DecisionsOf(got);
  std::vector<std::int32_t> truth;  // where there is a label
  std::vector<std::int32_t> labelled_before;
  std::vector<std::int32_t> labelled_after;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    truth.push_back(static_cast<std::int32_t>(labels[i]));
    labelled_before.push_back(before[i]);
    labelled_after.push_back(after[i]);
  }
  if (truth.empty()) return;
  if (kind_ == LabelKind::kMaps) {
    pairs_[kIouDrop].Add(IouOf(truth, labelled_before), IouOf(truth, labelled_after));
  } else {
    pairs_[kAccuracyDrop].Add(ShareOf(truth, labelled_before), ShareOf(truth, labelled_after));
  }
}

void LabelMeter::AddSequence(const OutputMeter& meter, std::span<const double> wanted,
                             std::span<const double> got, std::span<const float> labels) {
  std::vector<std::int32_t> truth;
  for (const float label : labels) {
    if (label >= 0) truth.push_back(static_cast<std::int32_t>(label));
  }
  const auto length = static_cast<double>(std::max<std::size_t>(truth.size(), 1));
  const auto edits_of = [&](std::span<const double> sample) {
    return static_cast<double>(EditDistance(truth, meter.SequenceOf(sample)));
  };
  const double before = edits_of(wanted);
  const double after = edits_of(got);
  pairs_[kEditDistanceRise].Add(before / length, after / length);
  pairs_[kAccuracyDrop].Add(before == 0 ? 1 : 0, after == 0 ? 1 : 0);
}

void LabelMeter::AddBoxes(const OutputMeter& meter, std::span<const double> wanted,
                          std::span<const double> got, std::span<const float> labels) {
  std::vector<Box> truth;
  for (std::size_t at = 0; at + kBoxNumbers <= labels.size(); at += kBoxNumbers) {
    truth.push_back({.x0 = labels[at],
                     .y0 = labels[at + 1],
                     .x1 = labels[at + 2],
                     .y1 = labels[at + 3],
                     .label = static_cast<std::int32_t>(labels[at + 4])});
  }
  pairs_[kF1Drop].Add(BoxF1(truth, meter.BoxesOf(wanted)), BoxF1(truth, meter.BoxesOf(got)));
}

void LabelMeter::AddValues(const OutputMeter& meter, std::span<const double> wanted,
                           std::span<const double> got, std::span<const float> labels) {
  CheckCount(labels.size(), meter.size());
  const auto columns = static_cast<std::size_t>(meter.columns());
  const std::size_t first = errors_.size();
  moments_.resize(columns);
  errors_.resize(first + columns);
  reference_errors_.resize(first + columns);
  const auto rows = static_cast<double>(std::max<std::size_t>(labels.size() / columns, 1));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double label = labels[i];
    reference_errors_[first + i % columns] += (wanted[i] - label) * (wanted[i] - label) / rows;
    errors_[first + i % columns] += (got[i] - label) * (got[i] - label) / rows;
    moments_[i % columns].Add(label);
    all_.Add(label);
  }
}

void LabelMeter::AddErrorsTo(OutputQuality& total) const {
  const double least = kLeastVariance * all_.variance();
  const std::size_t columns = moments_.size();
  std::vector<double> before;  // squared errors in units of the variance, by sample
  std::vector<double> after;
  for (std::size_t at = 0; at < errors_.size(); at += columns) {
    double sum_before = 0;
    double sum_after = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const double variance = std::max(moments_[i].variance(), least);
      // Labels that are all equal have no variance to divide by; the error remains unscaled.
      const double divisor = (variance > 0 ? variance : 1) * static_cast<double>(columns);
      sum_before += reference_errors_[at + i] / divisor;
      sum_after += errors_[at + i] / divisor;
    }
    before.push_back(sum_before);
    after.push_back(sum_after);
  }
  const auto root_of_mean = [](const std::vector<double>& squares) {
    double sum = 0;
    for (const double square : squares) sum += square;
    return std::sqrt(sum / static_cast<double>(squares.size()));
  };
  const double reference = root_of_mean(before);
  const double value = root_of_mean(after);
  // The error of a difference of roots: d sqrt(x) = dx / (2 sqrt(x)), for each sample.
  Spread spread;
  for (std::size_t i = 0; i < before.size(); ++i) {
    spread.Add((value > 0 ? after[i] / (2 * value) : 0) -
               (reference > 0 ? before[i] / (2 * reference) : 0));
  }
  const std::string name(kRelativeErrorRise);
  total.scores[name] = {.value = value, .reference = reference};
  total.losses[name] = {value - reference, spread.Total().error};
}

void LabelMeter::AddTo(OutputQuality& total) const {
  if (!errors_.empty()) AddErrorsTo(total);
  constexpr double kPercent = 100;
  for (const auto& [loss, pair] : pairs_) {
    const std::string name(loss);
    const auto count = static_cast<double>(pair.difference.count);
    const double value = pair.value / count;
    const double reference = pair.reference / count;
    total.scores[name] = {.value = kPercent * value, .reference = kPercent * reference};
    total.losses[name] = {kPercent * (IsError(loss) ? value - reference : reference - value),
                          kPercent * pair.difference.Total().error};
  }
}

}  // namespace msc::cost
