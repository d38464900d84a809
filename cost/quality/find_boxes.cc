#include "cost/quality/find_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "cost/quality/join_boxes.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kCorners = 4;
constexpr std::int64_t kMostNumbers = 1 << 20;
/// Share of the rows that must look like boxes. Offsets from anchors have both signs.
constexpr double kNearlyAll = 0.99;
constexpr double kSum = 1e-3;

std::int64_t Counted(const Tensor& tensor) {
  return std::min(tensor.size(), kMostNumbers);
}

/// Returns the form of boxes if the rows of [N, boxes, 4] are boxes.
std::optional<OutputForm> AsBoxes(const Tensor& tensor) {
  if (tensor.dims().size() != 3 || tensor.dims()[2] != kCorners || !IsFloat(tensor.dtype())) {
    return std::nullopt;
  }
  double corners = 0;
  double sides = 0;
  const std::int64_t rows = Counted(tensor) / kCorners;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto at = [&](std::int64_t c) { return NumberAt(tensor, i * kCorners + c); };
    corners += at(2) >= at(0) && at(3) >= at(1) ? 1 : 0;
    sides += at(2) >= 0 && at(3) >= 0 ? 1 : 0;
  }
  const double least = kNearlyAll * static_cast<double>(rows);
  if (rows == 0 || std::max(corners, sides) < least) return std::nullopt;
  return OutputForm{.kind = OutputKind::kBoxes, .axis = 2, .corners = corners >= least};
}

bool AreScores(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return false;
  for (std::int64_t i = 0; i < Counted(tensor); ++i) {
    const double number = NumberAt(tensor, i);
    if (!(number >= 0 && number <= 1)) return false;
  }
  return true;
}

/// Returns whether all numbers are whole: class numbers may be stored as floats.
bool AreClasses(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return true;
  for (std::int64_t i = 0; i < Counted(tensor); ++i) {
    const double number = NumberAt(tensor, i);
    if (number != std::round(number)) return false;
  }
  return true;
}

/// Returns the first or last class of [N, boxes, classes] if all rows are probabilities of classes
/// and it is the most likely one of most boxes; else -1.
std::int64_t BackgroundOf(const Tensor& scores) {
  const Dims& dims = scores.dims();
  if (dims.size() != 3 || dims[2] < 2) return -1;
  const std::int64_t classes = dims[2];
  const std::int64_t rows = Counted(scores) / classes;
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    std::int64_t best = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      const double score = NumberAt(scores, i * classes + c);
      sum += score;
      if (score > NumberAt(scores, i * classes + best)) best = c;
    }
    if (std::abs(sum - 1) > kSum) return -1;
    first += best == 0 ? 1 : 0;
    last += best == classes - 1 ? 1 : 0;
  }
  if (2 * std::max(first, last) <= rows) return -1;
  return first >= last ? 0 : classes - 1;
}

/// Returns whether scores [N, boxes] never rise within a sample, as those of selected boxes.
bool AreSorted(const Tensor& scores) {
  const std::int64_t boxes = scores.dims().at(1);
  for (std::int64_t i = 0; i + 1 < Counted(scores); ++i) {
    if ((i + 1) % boxes != 0 && NumberAt(scores, i) < NumberAt(scores, i + 1)) return false;
  }
  return boxes > 1;
}

/// Outputs of one model by number.
class Outputs {
 public:
  Outputs(std::span<const Tensor> tensors, const std::map<std::string, OutputForm>& given,
          const OutputForms& forms)
      : tensors_(tensors), given_(given), forms_(forms) {}

  /// Returns the first output of `rank` other than `boxes` that has a row for each of its boxes and
  /// that `fits`.
  template <class Fits>
  [[nodiscard]] std::optional<std::size_t> Find(std::size_t boxes, std::size_t rank,
                                                const Fits& fits) const {
    const Dims& dims = tensors_[boxes].dims();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Dims& other = tensors_[i].dims();
      const bool rows = other.size() == rank && other[0] == dims[0] && other[1] == dims[1];
      const bool free = i != boxes && !given_.contains(forms_[i].name) &&
                        FindBoxesOf(forms_, forms_[i].name) == nullptr;
      if (rows && free && fits(tensors_[i])) return i;
    }
    return std::nullopt;
  }

 private:
  std::span<const Tensor> tensors_;
  const std::map<std::string, OutputForm>& given_;
  const OutputForms& forms_;
};

}  // namespace

void FindBoxes(std::span<const Tensor> outputs, const std::map<std::string, OutputForm>& given,
               OutputForms& forms) {
  const Outputs all(outputs, given, forms);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (given.contains(forms[i].name) || FindBoxesOf(forms, forms[i].name) != nullptr) continue;
    std::optional<OutputForm> form = AsBoxes(outputs[i]);
    if (!form) continue;
    if (const auto scores = all.Find(i, 3, AreScores)) {
      form->scores = forms[*scores].name;
      form->background = BackgroundOf(outputs[*scores]);
      forms[i].form = *form;
      continue;
    }
    const auto scores = all.Find(
        i, 2, [](const Tensor& tensor) { return AreScores(tensor) && !AreClasses(tensor); });
    if (!scores) continue;
    form->scores = forms[*scores].name;
    if (const auto classes = all.Find(i, 2, AreClasses)) form->classes = forms[*classes].name;
    form->selected = !form->classes.empty() || AreSorted(outputs[*scores]);
    form->corners = form->corners || form->selected;
    forms[i].form = *form;
  }
}

void CheckBoxes(const OutputForms& forms) {
  for (const auto& [name, form] : forms) {
    if (form.kind != OutputKind::kBoxes) continue;
    if (form.scores.empty() && !form.classes.empty()) {
      throw UserError("output '" + name + "' has 'classes' but no 'scores'");
    }
    for (const std::string& part : {form.scores, form.classes}) {
      if (part.empty()) continue;
      const auto it = std::ranges::find(forms, part, &NamedForm::name);
      if (it == forms.end() || part == name || HasScoresElsewhere(it->form)) {
        throw UserError("output '" + name + "' cannot have its scores or classes in '" + part +
                        "'; name another output of the model");
      }
    }
  }
}

}  // namespace msc::cost
