#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Returns the form of candidates [N, ...] that begin with the numbers of a box along `axis`:
/// corners in order, or positive sides. Nothing if they do not; offsets from anchors have both
/// signs.
[[nodiscard]] std::optional<OutputForm> AsCandidates(const Tensor& tensor, std::int64_t axis);

/// Returns the form of [N, boxes, 6] if each row is a box that the model selected: corners in
/// order, a score that does not rise from row to row, and a class.
[[nodiscard]] std::optional<OutputForm> AsSelected(const Tensor& tensor);

/// Finds boxes whose scores are outputs of their own, and sets their forms: an output [N, boxes, 4]
/// whose rows are corners in order or have positive sides, with scores [N, boxes, classes],
/// [N, classes, boxes] or [N, boxes] in [0, 1], or before a sigmoid or softmax if their name says
/// that they are scores, and possibly class numbers [N, boxes]. `outputs` are those of the
/// uncompressed model for some samples; outputs in `given` keep their forms.
void FindBoxes(std::span<const Tensor> outputs, const std::map<std::string, OutputForm>& given,
               OutputForms& forms);

/// Throws UserError if boxes name scores or classes that are no other outputs, or are boxes with
/// scores elsewhere themselves.
void CheckBoxes(const OutputForms& forms);

}  // namespace msc::cost
