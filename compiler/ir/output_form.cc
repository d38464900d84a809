#include "compiler/ir/output_form.h"

#include <algorithm>

namespace msc {
namespace {

std::string BoxText(const OutputForm& form) {
  return std::string(form.corners ? " (x0, y0, x1, y1" : " (centre, width, height") +
         (form.objectness ? ", objectness)" : ")");
}

}  // namespace

const NamedForm* FindBoxesOf(const OutputForms& forms, const std::string& name) {
  const auto it = std::ranges::find_if(forms, [&](const NamedForm& output) {
    return output.form.kind == OutputKind::kBoxes &&
           (output.form.scores == name || output.form.classes == name);
  });
  return it == forms.end() ? nullptr : &*it;
}

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
      return text + (form.selected ? ", selected by the model" : BoxText(form) + along) +
             (form.scores.empty() ? "" : ", scores in '" + form.scores + "'") +
             (form.classes.empty() ? "" : ", classes in '" + form.classes + "'") +
             (form.background < 0 ? "" : ", background " + std::to_string(form.background));
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
