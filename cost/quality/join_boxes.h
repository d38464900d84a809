#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/output_form.h"

namespace msc::cost {

/// Numbers of an output for some samples, [N, ...].
struct OutputNumbers {
  std::vector<double> values;
  Dims dims;
};

/// Returns whether an output has boxes whose scores are another output.
[[nodiscard]] bool HasScoresElsewhere(const OutputForm& form);

/// Returns the boxes of output `boxes` with their scores and classes, [N, boxes, numbers], as an
/// output with scores beside the boxes holds them. UserError if the named outputs do not exist or
/// do not fit: [N, boxes, 4], [N, boxes, classes] or [N, boxes], [N, boxes].
[[nodiscard]] OutputNumbers JoinBoxes(const OutputForms& forms, std::size_t boxes,
                                      std::span<const OutputNumbers> outputs);

/// Returns the form of what JoinBoxes returns.
[[nodiscard]] NamedForm JoinedForm(NamedForm boxes);

}  // namespace msc::cost
