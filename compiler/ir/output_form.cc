#include "compiler/ir/output_form.h"

namespace msc {

std::string FormatForm(const OutputForm& form) {
  std::string text(kOutputKinds.at(static_cast<std::size_t>(form.kind)));
  const std::string along = " along axis " + std::to_string(form.axis);
  switch (form.kind) {
    case OutputKind::kLogits:
    case OutputKind::kProbabilities:
      return text + along;
    case OutputKind::kCtc:
      return text + along + ", blank " + std::to_string(form.blank);
    case OutputKind::kBoxes:
      if (form.selected) return text + ", selected by the model";
      return text + (form.corners ? " (x0, y0, x1, y1" : " (centre, width, height") +
             (form.objectness ? ", objectness)" : ")") + along;
    case OutputKind::kLogit:
    case OutputKind::kBinary:
    case OutputKind::kRegression:
    case OutputKind::kSeries:
    case OutputKind::kEmbedding:
    case OutputKind::kIntegers:
      break;
  }
  return text;
}

}  // namespace msc
