#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/base/hash.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"
#include "cost/model/labels.h"

namespace msc::cost {

/// Labels of all outputs that have any.
struct BoundLabels {
  std::vector<OutputLabels> outputs;
  /// What they are taken for, one line each: "labels 'masks.npy' of output 'mask': maps".
  std::vector<std::string> notes;
};

/// Finds the output of each file of labels, and checks that they fit it:
///
/// - integers are classes of logits, probabilities, logit, binary and integers, or maps where
///   decisions have two or more axes; sequences of ctc; values of regression and series;
/// - numbers are values of regression, series, logit and binary, of these classes if all are 0 or
/// 1;
/// - texts are sequences of ctc: the alphabet names the classes, the blank may be left out of it,
///   and so may a space that is the last class;
/// - boxes are those of boxes.
///
/// In maps 255 is not labelled, unless it is a class, and nor is -1 anywhere but in single class
/// numbers. `outputs` are those of the uncompressed model, [N, ...] each, for some of the samples:
/// their sizes decide where labels of one size fit, and their boxes whether the units are pixels.
/// UserError naming file and sample for labels that fit no output or not the one that they name,
/// for classes that do not exist, and for texts with other characters than the alphabet's.
[[nodiscard]] BoundLabels BindLabels(const std::vector<SampleLabels>& labels,
                                     const OutputForms& forms, std::span<const Tensor> outputs);

/// Adds labels to the hash of the samples that a model is judged on.
void HashLabels(std::span<const OutputLabels> labels, Sha256& hash);

}  // namespace msc::cost
