#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "cost/model/labels.h"
#include "cost/model/outcome.h"
#include "cost/quality/output_meter.h"

namespace msc::cost {

/// Scores one output of both models against labels, sample by sample.
///
/// - Classes: share of decisions that are right (kAccuracyDrop).
/// - Maps: mean over the classes that occur of the intersection over union (kIouDrop).
/// - Values: root of the mean squared error, divided by the standard deviation of the labels, of a
///   column of its own where the output's columns have one (kRelativeErrorRise).
/// - Sequences: edits relative to the length of the label (kEditDistanceRise), and the share of
///   sequences without any (kAccuracyDrop).
/// - Boxes: F1 at an overlap of 0.5 (kF1Drop).
///
/// Scores are computed for each sample and averaged; the error of a difference is that of the mean
/// of the samples' differences. What is not labelled does not count.
class LabelMeter {
 public:
  explicit LabelMeter(LabelKind kind) : kind_(kind) {}

  /// Adds a sample: what both models give and the labels. `meter` is that of the output. UserError
  /// if there are more or fewer labels than it has decisions or numbers.
  void Add(const OutputMeter& meter, std::span<const double> wanted, std::span<const double> got,
           std::span<const float> labels);

  /// Adds scores and losses to `total`; nothing if no sample was labelled.
  void AddTo(OutputQuality& total) const;

 private:
  /// A score of both models, whose difference is a loss.
  struct Pair {
    double reference = 0;  // sums over samples
    double value = 0;
    Spread difference;  // value - reference
    void Add(double of_reference, double of_value);
  };
  void AddDecisions(const OutputMeter& meter, std::span<const double> wanted,
                    std::span<const double> got, std::span<const float> labels);
  void AddSequence(const OutputMeter& meter, std::span<const double> wanted,
                   std::span<const double> got, std::span<const float> labels);
  void AddBoxes(const OutputMeter& meter, std::span<const double> wanted,
                std::span<const double> got, std::span<const float> labels);
  void AddValues(const OutputMeter& meter, std::span<const double> wanted,
                 std::span<const double> got, std::span<const float> labels);
  void AddErrorsTo(OutputQuality& total) const;

  LabelKind kind_;
  std::map<std::string_view, Pair> pairs_;  // by loss
  // Of values.
  std::vector<Moments> moments_;  // of labels, by column
  Moments all_;
  std::vector<double> reference_errors_;  // squared, by sample and column, means
  std::vector<double> errors_;
};

}  // namespace msc::cost
