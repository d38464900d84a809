#include "cost/quality/output_meter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "cost/model/loss.h"
#include "cost/quality/boxes.h"
#include "cost/quality/distances.h"

namespace msc::cost {
namespace {

constexpr double kPercent = 100;
/// More columns are taken for positions of one quantity, such as the pixels of a row.
constexpr std::int64_t kMostColumns = 64;
/// Samples whose nearest neighbours are searched; the work grows with the square.
constexpr std::size_t kMostNeighbours = 2000;
/// Neighbours whose cosines differ by less are equally near.
constexpr double kSameCosine = 1e-6;

bool HasClasses(OutputKind kind) {
  return kind == OutputKind::kLogits || kind == OutputKind::kProbabilities ||
         kind == OutputKind::kCtc;
}

bool IsBinary(OutputKind kind) {
  return kind == OutputKind::kLogit || kind == OutputKind::kBinary;
}

/// Returns the mean over the last axis' vectors, scaled to norm 1; zeros stay zeros.
std::vector<float> MeanVector(std::span<const double> sample, std::size_t size) {
  std::vector<double> mean(size);
  for (std::size_t i = 0; i < sample.size(); ++i) mean[i % size] += sample[i];
  const double norm = std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0));
  std::vector<float> unit(size);
  if (norm == 0) return unit;
  for (std::size_t i = 0; i < size; ++i) unit[i] = static_cast<float>(mean[i] / norm);
  return unit;
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F);
}

/// Returns the number of the vector nearest to vector `i`, other than itself.
std::size_t NearestTo(const std::vector<std::vector<float>>& vectors, std::size_t i) {
  std::size_t nearest = i == 0 ? 1 : 0;
  double most = Cosine(vectors[i], vectors[nearest]);
  for (std::size_t j = nearest + 1; j < vectors.size(); ++j) {
    if (j == i) continue;
    const double cosine = Cosine(vectors[i], vectors[j]);
    if (cosine > most) {
      most = cosine;
      nearest = j;
    }
  }
  return nearest;
}

}  // namespace

Estimate Spread::Total() const {
  Check(count > 0, "a mean is asked for after at least one sample");
  const auto n = static_cast<double>(count);
  const double mean = sum / n;
  if (count == 1) return {mean, 0};
  // Rounding can make the difference negative if all samples are equal.
  const double deviation = std::max(0.0, squares - sum * mean);
  return {mean, std::sqrt(deviation / (n - 1) / n)};
}

void Moments::Add(double value) {
  count += 1;
  const double delta = value - mean;
  mean += delta / count;
  squares += delta * (value - mean);
}

OutputMeter::OutputMeter(NamedForm form, const Dims& dims) : form_(std::move(form)) {
  SetDims(dims);
}

void OutputMeter::SetDims(const Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (rank == 0) throw UserError("output '" + form_.name + "' has no axis of samples");
  Dims sample(dims.begin() + 1, dims.end());
  const bool is_first = moments_.empty();
  if (!is_first && sample == dims_) return;
  dims_ = std::move(sample);
  classes_ = inner_ = 1;
  const OutputKind kind = form_.form.kind;
  const std::int64_t size =
      std::accumulate(dims.begin() + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
  outer_ = size;
  if (HasClasses(kind) || kind == OutputKind::kBoxes || kind == OutputKind::kEmbedding) {
    std::int64_t last = rank - 1;  // of more than one entry
    while (last > 1 && dims[static_cast<std::size_t>(last)] == 1) --last;
    const std::int64_t axis = kind == OutputKind::kEmbedding ? last
                              : form_.form.axis < 0          ? form_.form.axis + rank
                                                             : form_.form.axis;
    if (axis < 1 || axis >= rank) {
      throw UserError("output '" + form_.name + "', " + ToString(dims) + ", has no axis " +
                      std::to_string(form_.form.axis) + " beside that of samples");
    }
    const auto at = dims.begin() + axis;
    classes_ = *at;
    outer_ = std::accumulate(dims.begin() + 1, at, std::int64_t{1}, std::multiplies<>());
    inner_ = std::accumulate(at + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
  }
  const bool objectness = form_.form.objectness || form_.form.selected;
  if (kind == OutputKind::kBoxes && classes_ < (objectness ? 5 : 4)) {
    throw UserError("output '" + form_.name + "', " + ToString(dims) +
                    ", has no boxes along axis " + std::to_string(form_.form.axis));
  }
  // Axes of size 1 are no positions.
  const auto positions =
      std::count_if(dims.begin() + 1, dims.end(), [](std::int64_t extent) { return extent > 1; });
  const bool each = IsBinary(kind) || kind == OutputKind::kIntegers;
  map_ = (each && positions >= 2) || (HasClasses(kind) && positions >= 3);
  const bool units = kind == OutputKind::kSeries || (kind == OutputKind::kRegression && rank == 2);
  const bool few = units && rank >= 2 && dims.back() <= kMostColumns;
  const std::int64_t columns = few ? std::max<std::int64_t>(dims.back(), 1) : 1;
  if (!is_first && columns != columns_) {
    throw UserError("output '" + form_.name + "' has " + std::to_string(columns) +
                    " numbers in a row for some samples and " + std::to_string(columns_) +
                    " for others; compare samples of one size");
  }
  columns_ = columns;
  moments_.resize(static_cast<std::size_t>(columns_));
}

std::int64_t OutputMeter::choices() const {
  return HasClasses(form_.form.kind) ? classes_ : IsBinary(form_.form.kind) ? 2 : 0;
}

void OutputMeter::CopyRow(std::span<const double> sample, std::int64_t row,
                          std::span<double> to) const {
  const std::int64_t first = row / inner_ * classes_ * inner_ + row % inner_;
  for (std::int64_t i = 0; i < classes_; ++i) {
    to[static_cast<std::size_t>(i)] = sample[static_cast<std::size_t>(first + i * inner_)];
  }
}

std::int64_t OutputMeter::decisions() const {
  if (HasClasses(form_.form.kind)) return outer_ * inner_;
  return IsBinary(form_.form.kind) || form_.form.kind == OutputKind::kIntegers ? size() : 0;
}

std::vector<std::int32_t> OutputMeter::SequenceOf(std::span<const double> sample) const {
  const auto blank = static_cast<std::int32_t>(form_.form.blank < 0 ? form_.form.blank + classes_
                                                                    : form_.form.blank);
  return DecodeCtc(DecisionsOf(sample), blank);
}

std::vector<double> OutputMeter::RowsOf(std::span<const double> sample) const {
  std::vector<double> rows(sample.size());
  const auto size = static_cast<std::size_t>(classes_);
  for (std::int64_t i = 0; i < outer_ * inner_; ++i) {
    CopyRow(sample, i, std::span(rows).subspan(static_cast<std::size_t>(i) * size, size));
  }
  return rows;
}

std::vector<Box> OutputMeter::BoxesOf(std::span<const double> sample) const {
  Check(form_.form.kind == OutputKind::kBoxes, "the output has boxes");
  return SelectBoxes(RowsOf(sample), static_cast<std::size_t>(classes_), form_.form);
}

std::vector<std::int32_t> OutputMeter::DecisionsOf(std::span<const double> sample) const {
  std::vector<std::int32_t> decisions;
  if (form_.form.kind == OutputKind::kIntegers) {
    constexpr double kMost = std::numeric_limits<std::int32_t>::max();
    for (const double value : sample) {
      decisions.push_back(static_cast<std::int32_t>(std::clamp(value, -kMost, kMost)));
    }
    return decisions;
  }
  if (IsBinary(form_.form.kind)) {
    const double threshold = form_.form.kind == OutputKind::kBinary ? 0.5 : 0;
    for (const double value : sample) decisions.push_back(value > threshold ? 1 : 0);
    return decisions;
  }
  Check(HasClasses(form_.form.kind), "the output has decisions");
  std::vector<double> row(static_cast<std::size_t>(classes_));
  for (std::int64_t i = 0; i < outer_ * inner_; ++i) {
    CopyRow(sample, i, row);
    decisions.push_back(static_cast<std::int32_t>(ArgMax(row)));
  }
  return decisions;
}

void OutputMeter::Add(std::span<const double> wanted, std::span<const double> got,
                      std::int64_t samples) {
  Check(static_cast<std::int64_t>(wanted.size()) == samples * size(),
        "batches of an output have samples of one size");
  const auto each = static_cast<std::size_t>(size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i) {
    AddSample(wanted.subspan(i * each, each), got.subspan(i * each, each));
  }
}

void OutputMeter::AddSample(std::span<const double> p, std::span<const double> q) {
  switch (form_.form.kind) {
    case OutputKind::kLogits:
    case OutputKind::kProbabilities:
    case OutputKind::kLogit:
    case OutputKind::kBinary:
      AddDivergence(p, q);
      AddDecisions(p, q);
      break;
    case OutputKind::kCtc:
      AddDivergence(p, q);
      AddSequence(p, q);
      break;
    case OutputKind::kEmbedding:
      AddVectors(p, q);
      break;
    case OutputKind::kBoxes:
      AddBoxes(p, q);
      break;
    case OutputKind::kIntegers:
      AddIntegers(p, q);
      return;
    case OutputKind::kRegression:
    case OutputKind::kSeries:
      break;
  }
  // The rows of selected boxes have no fixed places.
  if (!form_.form.selected) AddErrors(p, q);
}

void OutputMeter::AddDivergence(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  if (IsBinary(form_.form.kind)) {
    const auto divergence =
        form_.form.kind == OutputKind::kBinary ? BinaryDivergence : LogitDivergence;
    for (std::size_t i = 0; i < p.size(); ++i) sum += divergence(p[i], q[i]);
    losses_[kDistillLoss].Add(p.empty() ? 0 : sum / static_cast<double>(p.size()));
    return;
  }
  // The probabilities of a CTC output have the sum 1, its logits hardly ever.
  const bool logits = form_.form.kind == OutputKind::kLogits ||
                      (form_.form.kind == OutputKind::kCtc && form_.form.logits);
  std::vector<double> row_p(static_cast<std::size_t>(classes_));
  std::vector<double> row_q(row_p.size());
  const std::int64_t rows = outer_ * inner_;
  for (std::int64_t i = 0; i < rows; ++i) {
    CopyRow(p, i, row_p);
    CopyRow(q, i, row_q);
    sum += logits ? LogitsDivergence(row_p, row_q) : ProbabilitiesDivergence(row_p, row_q);
  }
  losses_[kDistillLoss].Add(rows == 0 ? 0 : sum / static_cast<double>(rows));
}

void OutputMeter::AddDecisions(std::span<const double> p, std::span<const double> q) {
  const std::vector<std::int32_t> before = DecisionsOf(p);
  const std::vector<std::int32_t> after = DecisionsOf(q);
  double changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] == after[i] ? 0 : 1;
  const auto count = static_cast<double>(std::max<std::size_t>(before.size(), 1));
  losses_[kDisagreement].Add(kPercent * changed / count);
  if (map_) losses_[kIouLoss].Add(kPercent * (1 - MeanIou(before, after)));
}

void OutputMeter::AddSequence(std::span<const double> p, std::span<const double> q) {
  const std::vector<std::int32_t> before = SequenceOf(p);
  const std::vector<std::int32_t> after = SequenceOf(q);
  const auto edits = static_cast<double>(EditDistance(before, after));
  losses_[kDisagreement].Add(edits > 0 ? kPercent : 0);
  const auto length = static_cast<double>(std::max<std::size_t>(before.size(), 1));
  losses_[kEditDistance].Add(kPercent * edits / length);
}

void OutputMeter::AddIntegers(std::span<const double> p, std::span<const double> q) {
  double changed = 0;
  for (std::size_t i = 0; i < p.size(); ++i) changed += p[i] == q[i] ? 0 : 1;
  const auto count = static_cast<double>(std::max<std::size_t>(p.size(), 1));
  losses_[kDisagreement].Add(kPercent * changed / count);
}

void OutputMeter::AddVectors(std::span<const double> p, std::span<const double> q) {
  const auto size = static_cast<std::size_t>(classes_);
  double sum = 0;
  for (std::int64_t i = 0; i < outer_; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    sum += CosineDistance(p.subspan(at, size), q.subspan(at, size));
  }
  losses_[kCosineDistance].Add(outer_ == 0 ? 0 : sum / static_cast<double>(outer_));
  if (wanted_vectors_.size() == kMostNeighbours) return;
  wanted_vectors_.push_back(MeanVector(p, size));
  got_vectors_.push_back(MeanVector(q, size));
}

void OutputMeter::AddBoxes(std::span<const double> p, std::span<const double> q) {
  const auto size = static_cast<std::size_t>(classes_);
  const std::vector<double> rows_q = RowsOf(q);
  const std::vector<Box> before = BoxesOf(p);
  const std::vector<Box> after = SelectBoxes(rows_q, size, form_.form);
  const double lost = kPercent * (1 - BoxF1(before, after));
  losses_[kBoxLoss].Add(lost);
  losses_[kDisagreement].Add(lost);
  if (form_.form.selected) {
    losses_[kDistillLoss].Add(lost / kPercent);
    return;
  }
  // Of the candidates that the uncompressed model selects: the divergence of their scores, and the
  // squared error of their corners in units of their sides, halved as for numbers.
  double sum = 0;
  for (const Box& box : before) {
    const Box other = MakeBox(std::span(rows_q).subspan(box.candidate * size, size), form_.form);
    const double width = std::max(box.x1 - box.x0, 1e-6);
    const double height = std::max(box.y1 - box.y0, 1e-6);
    sum += BinaryDivergence(box.score, other.score);
    sum += (std::pow((box.x0 - other.x0) / width, 2) + std::pow((box.x1 - other.x1) / width, 2) +
            std::pow((box.y0 - other.y0) / height, 2) + std::pow((box.y1 - other.y1) / height, 2)) /
           8;
  }
  losses_[kDistillLoss].Add(before.empty() ? 0 : sum / static_cast<double>(before.size()));
}

void OutputMeter::AddErrors(std::span<const double> p, std::span<const double> q) {
  const auto columns = static_cast<std::size_t>(columns_);
  const std::size_t first = squared_errors_.size();
  squared_errors_.resize(first + columns);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double error = q[i] - p[i];
    squared_errors_[first + i % columns] += error * error;
    moments_[i % columns].Add(p[i]);
    all_.Add(p[i]);
  }
  const auto rows = static_cast<double>(std::max<std::size_t>(p.size() / columns, 1));
  for (std::size_t i = 0; i < columns; ++i) squared_errors_[first + i] /= rows;
}

void OutputMeter::AddTotalsOfErrors(OutputQuality& total) const {
  // A constant reference has no variance to divide by; the error remains unscaled. Nor do the
  // columns of a single row.
  const bool one_row = !moments_.empty() && moments_[0].count < 2;
  const double least = (one_row ? 1 : kLeastVariance) * all_.variance();
  Spread relative;  // squared error in units of the variance
  const auto columns = static_cast<std::size_t>(columns_);
  for (std::size_t at = 0; at < squared_errors_.size(); at += columns) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const double variance = std::max(moments_[i].variance(), least);
      sum += squared_errors_[at + i] / (variance > 0 ? variance : 1);
    }
    relative.Add(sum / static_cast<double>(columns));
  }
  const Estimate square = relative.Total();
  const double root = std::sqrt(square.value);
  // The error of a root: d sqrt(x) = dx / (2 sqrt(x)).
  total.losses[std::string(kRelativeError)] = {root, root > 0 ? square.error / (2 * root) : 0};
  const bool numbers = form_.form.kind == OutputKind::kRegression ||
                       form_.form.kind == OutputKind::kSeries ||
                       form_.form.kind == OutputKind::kEmbedding;
  // Half the relative squared error is the KL divergence of two normal distributions with the
  // output's variance, so that it has the unit of the other divergences.
  if (numbers) total.losses[std::string(kDistillLoss)] = {square.value / 2, square.error / 2};
}

Estimate OutputMeter::ChangedNeighbours() const {
  Spread changed;
  for (std::size_t i = 0; i < wanted_vectors_.size(); ++i) {
    if (wanted_vectors_.size() < 2) {
      changed.Add(0);
      continue;
    }
    const std::vector<float>& vector = wanted_vectors_[i];
    const std::size_t before = NearestTo(wanted_vectors_, i);
    const std::size_t after = NearestTo(got_vectors_, i);
    const double lost =
        Cosine(vector, wanted_vectors_[before]) - Cosine(vector, wanted_vectors_[after]);
    changed.Add(lost > kSameCosine ? kPercent : 0);
  }
  return changed.Total();
}

OutputQuality OutputMeter::Total() const {
  OutputQuality total{.name = form_.name, .kind = form_.form.kind};
  for (const auto& [name, spread] : losses_) total.losses.emplace(name, spread.Total());
  if (!squared_errors_.empty()) AddTotalsOfErrors(total);
  if (form_.form.kind == OutputKind::kEmbedding) {
    total.losses[std::string(kDisagreement)] = ChangedNeighbours();
  }
  return total;
}

}  // namespace msc::cost
