#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/output_form.h"
#include "cost/model/outcome.h"
#include "cost/quality/boxes.h"

namespace msc::cost {

/// Sum and sum of squares of one number for each sample.
struct Spread {
  double sum = 0;
  double squares = 0;
  std::int64_t count = 0;
  void Add(double value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  /// Returns the mean and its standard error, which is 0 for a single sample. InternalError if
  /// nothing was added.
  [[nodiscard]] Estimate Total() const;
};

/// Running mean and sum of squared deviations (Welford). A difference of sums of squares would
/// cancel for numbers far from 0.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;
  void Add(double value);
  [[nodiscard]] double variance() const { return count > 0 ? squares / count : 0; }
};

/// Least variance of a column relative to that of the whole output. The rounding errors of a column
/// that hardly varies would otherwise decide.
inline constexpr double kLeastVariance = 1e-4;

/// Compares one output of a candidate with that of the uncompressed model, batch by batch. An
/// output is [N, ...] with N samples; its form says what it is.
///
/// Losses are computed for each sample, as a mean over the rows, numbers or vectors of the sample,
/// and then averaged over samples: samples are independent, the rows of one are not. The errors of
/// numbers are divided by the variance of the output over all samples, of a column of its own where
/// columns may have units of their own (series, and regressions of a few numbers). All sums are in
/// double, so the order of batches changes only the last digits.
class OutputMeter {
 public:
  /// `dims` are those of any batch. UserError if the form does not fit them.
  OutputMeter(NamedForm form, const Dims& dims);

  /// Says that the next batches have these dims, for samples of several sizes. UserError if the
  /// form does not fit them, or if the number of columns with a variance of their own changes.
  void SetDims(const Dims& dims);

  /// Adds numbers of both models for `samples` samples; all are finite.
  void Add(std::span<const double> wanted, std::span<const double> got, std::int64_t samples);

  /// Returns the means so far. InternalError if there are no samples.
  [[nodiscard]] OutputQuality Total() const;

  /// Returns the decisions of one sample, if the form has any: the class of each row, for each
  /// number whether it is above the threshold, as 0 or 1, or integers as they are. InternalError
  /// for other forms.
  [[nodiscard]] std::vector<std::int32_t> DecisionsOf(std::span<const double> sample) const;
  /// Returns how many classes a decision is one of; 0 if the form has no decisions by class.
  [[nodiscard]] std::int64_t choices() const;
  /// Returns the number of decisions of a sample; 0 if the form has none by class or integer.
  [[nodiscard]] std::int64_t decisions() const;
  /// Returns whether the decisions of a sample are a map: they have two or more axes.
  [[nodiscard]] bool is_map() const { return map_; }
  /// Returns how many numbers of a row have a variance of their own.
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Returns what a CTC decoder reads in one sample. InternalError for other forms.
  [[nodiscard]] std::vector<std::int32_t> SequenceOf(std::span<const double> sample) const;
  /// Returns the boxes that count of one sample (SelectBoxes). InternalError for other forms.
  [[nodiscard]] std::vector<Box> BoxesOf(std::span<const double> sample) const;
  /// Returns the numbers of a box; of other forms with an axis the size of that axis.
  [[nodiscard]] std::int64_t classes() const { return classes_; }
  /// Returns the number of numbers of a sample.
  [[nodiscard]] std::int64_t size() const { return outer_ * classes_ * inner_; }

 private:
  void AddSample(std::span<const double> p, std::span<const double> q);
  void AddDivergence(std::span<const double> p, std::span<const double> q);
  void AddDecisions(std::span<const double> p, std::span<const double> q);
  void AddSequence(std::span<const double> p, std::span<const double> q);
  void AddIntegers(std::span<const double> p, std::span<const double> q);
  void AddVectors(std::span<const double> p, std::span<const double> q);
  void AddBoxes(std::span<const double> p, std::span<const double> q);
  void AddErrors(std::span<const double> p, std::span<const double> q);
  void AddTotalsOfErrors(OutputQuality& total) const;
  /// Returns the share of vectors whose nearest neighbour among the others changes.
  [[nodiscard]] Estimate ChangedNeighbours() const;
  /// Returns the rows of a sample one after the other.
  [[nodiscard]] std::vector<double> RowsOf(std::span<const double> sample) const;
  /// Copies row `row` of a sample to `to`.
  void CopyRow(std::span<const double> sample, std::int64_t row, std::span<double> to) const;

  NamedForm form_;
  Dims dims_;  // of a sample
  // A sample is [outer, classes, inner]: the axis of the form in the middle.
  std::int64_t outer_ = 1;
  std::int64_t classes_ = 1;
  std::int64_t inner_ = 1;
  bool map_ = false;  // two or more axes beside those of samples and classes
  std::map<std::string_view, Spread> losses_;
  std::int64_t columns_ = 1;  // numbers with a variance of their own
  std::vector<Moments> moments_;
  Moments all_;
  std::vector<double> squared_errors_;  // by sample and column, means
  // Of embeddings, the mean vector of each of the first samples, scaled to norm 1.
  std::vector<std::vector<float>> wanted_vectors_;
  std::vector<std::vector<float>> got_vectors_;
};

}  // namespace msc::cost
