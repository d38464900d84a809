#pragma once

#include <map>
#include <span>
#include <string>

#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Finds boxes whose scores are outputs of their own, and sets their forms: an output [N, boxes, 4]
/// whose rows are corners in order or have positive sides, with scores [N, boxes, classes] or
/// [N, boxes] in [0, 1], and possibly class numbers [N, boxes]. `outputs` are those of the
/// uncompressed model for some samples; outputs in `given` keep their forms.
void FindBoxes(std::span<const Tensor> outputs, const std::map<std::string, OutputForm>& given,
               OutputForms& forms);

/// Throws UserError if boxes name scores or classes that are no other outputs, or are boxes with
/// scores elsewhere themselves.
void CheckBoxes(const OutputForms& forms);

}  // namespace msc::cost
