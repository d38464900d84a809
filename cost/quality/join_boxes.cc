#include "cost/quality/join_boxes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kCorners = 4;

std::size_t IndexOf(const OutputForms& forms, const std::string& name, const std::string& boxes) {
  const auto it = std::ranges::find(forms, name, &NamedForm::name);
  if (it != forms.end()) return static_cast<std::size_t>(it - forms.begin());
  throw UserError("output '" + boxes + "' has its scores or classes in '" + name +
                  "', which is no output of the model");
}

/// Returns boxes with their scores and classes.
OutputNumbers JoinBoxes(const OutputForms& forms, std::size_t boxes,
                        std::span<const OutputNumbers> outputs) {
  const auto& [name, form] = forms[boxes];
  const Dims& dims = outputs[boxes].dims;
  if (dims.size() != 3 || dims[2] != kCorners) {
    throw UserError("output '" + name + "', " + ToString(dims) +
                    ", does not hold boxes, [N, boxes, 4]");
  }
  std::vector<std::size_t> parts = {boxes, IndexOf(forms, form.scores, name)};
  if (!form.classes.empty()) parts.push_back(IndexOf(forms, form.classes, name));
  OutputNumbers joined{{}, {dims[0], dims[1], 0}};
  std::vector<std::ptrdiff_t> sizes;
  for (const std::size_t part : parts) {
    const Dims& of_part = outputs[part].dims;
    const bool fits = (of_part.size() == 2 || of_part.size() == 3) && of_part[0] == dims[0] &&
                      of_part[1] == dims[1];
    if (!fits) {
      throw UserError("output '" + forms[part].name + "', " + ToString(of_part) +
                      ", does not fit the boxes in '" + name + "', " + ToString(dims));
    }
    sizes.push_back(of_part.size() == 3 ? of_part[2] : 1);
    joined.dims[2] += sizes.back();
  }
  const std::ptrdiff_t rows = dims[0] * dims[1];
  joined.values.reserve(static_cast<std::size_t>(rows * joined.dims[2]));
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto first = outputs[parts[i]].values.begin() + row * sizes[i];
      joined.values.insert(joined.values.end(), first, first + sizes[i]);
    }
  }
  return joined;
}

}  // namespace

bool HasScoresElsewhere(const OutputForm& form) {
  return form.kind == OutputKind::kBoxes && !form.scores.empty();
}

std::vector<ComparedOutput> JoinOutputs(const OutputForms& forms,
                                        std::vector<OutputNumbers> outputs) {
  std::vector<ComparedOutput> compared;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (!HasScoresElsewhere(forms[i].form)) continue;
    // Only this output becomes another one; its scores and classes stay for other readers.
    outputs[i] = JoinBoxes(forms, i, outputs);
  }
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (FindBoxesOf(forms, forms[i].name) != nullptr) continue;
    NamedForm named = forms[i];
    if (HasScoresElsewhere(named.form)) {
      named.form.axis = 2;
      named.form.scores.clear();
      named.form.classes.clear();
    }
    compared.push_back({std::move(named), std::move(outputs[i])});
  }
  return compared;
}

}  // namespace msc::cost
