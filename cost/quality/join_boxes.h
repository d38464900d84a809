#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Numbers of an output for some samples, [N, ...].
struct OutputNumbers {
  std::vector<double> values;
  Dims dims;
};

/// Returns the values of an output as doubles. UserError for strings and complex numbers.
[[nodiscard]] OutputNumbers NumbersOf(const Tensor& tensor);

/// Returns whether an output has boxes whose scores are another output.
[[nodiscard]] bool HasScoresElsewhere(const OutputForm& form);

/// An output as it is compared.
struct ComparedOutput {
  NamedForm named;
  OutputNumbers numbers;
};

/// Returns what is compared of all outputs of a model. Boxes whose scores and classes are other
/// outputs come with them, [N, boxes, numbers], as if these stood beside the boxes; those outputs
/// are left out, and all others stay as they are. UserError if the named outputs do not exist or do
/// not fit: boxes [N, boxes, 4], scores [N, boxes, classes], [N, classes, boxes] or [N, boxes],
/// classes [N, boxes].
[[nodiscard]] std::vector<ComparedOutput> JoinOutputs(const OutputForms& forms,
                                                      std::vector<OutputNumbers> outputs);

}  // namespace msc::cost
