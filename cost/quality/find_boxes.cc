#include "cost/quality/find_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "cost/quality/join_boxes.h"
#include "cost/quality/name_hints.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kCorners = 4;
constexpr std::int64_t kMostNumbers = 1 << 20;
/// Share of the rows that must look like boxes.
constexpr double kNearlyAll = 0.99;
constexpr double kSum = 1e-3;

std::int64_t Counted(const Tensor& tensor) {
  return std::min(tensor.size(), kMostNumbers);
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

/// Scores of classes, [N, boxes, classes] or [N, classes, boxes].
struct ClassScores {
  const Tensor& tensor;
  std::int64_t boxes = 0;
  std::int64_t classes = 0;
  bool classes_first = false;
  [[nodiscard]] std::int64_t rows() const { return Counted(tensor) / (boxes * classes) * boxes; }
  [[nodiscard]] double At(std::int64_t row, std::int64_t c) const {
    const std::int64_t sample = row / boxes * boxes * classes;
    const std::int64_t box = row % boxes;
    return NumberAt(tensor, sample + (classes_first ? c * boxes + box : box * classes + c));
  }
};

/// Returns the first or last class if it is what is no object: the most likely one of most boxes,
/// of probabilities of classes with the sum 1, or of nearly all boxes, of scores before a softmax
/// that it leads with a positive one. Scores before a sigmoid are negative where there is nothing.
/// Else returns -1.
std::int64_t BackgroundOf(const ClassScores& scores, bool logits) {
  if (scores.classes < 2) return -1;
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < scores.rows(); ++i) {
    double sum = 0;
    std::int64_t best = 0;
    for (std::int64_t c = 0; c < scores.classes; ++c) {
      sum += scores.At(i, c);
      if (scores.At(i, c) > scores.At(i, best)) best = c;
    }
    if (!logits && std::abs(sum - 1) > kSum) return -1;
    if (logits && scores.At(i, best) <= 0) continue;
    first += best == 0 ? 1 : 0;
    last += best == scores.classes - 1 ? 1 : 0;
  }
  constexpr double kMost = 0.5;
  constexpr double kNearlyAllLogits = 0.8;
  const auto least = (logits ? kNearlyAllLogits : kMost) * static_cast<double>(scores.rows());
  if (static_cast<double>(std::max(first, last)) <= least) return -1;
  return first >= last ? 0 : scores.classes - 1;
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

  /// Returns the first output other than `boxes` for which `fits` and whose form is free.
  template <class Fits>
  [[nodiscard]] std::optional<std::size_t> Find(std::size_t boxes, const Fits& fits) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const bool free = i != boxes && !given_.contains(forms_[i].name) &&
                        FindBoxesOf(forms_, forms_[i].name) == nullptr;
      const Dims& dims = tensors_[i].dims();
      const bool same = !dims.empty() && dims[0] == tensors_[boxes].dims()[0];
      if (free && same && fits(tensors_[i], i)) return i;
    }
    return std::nullopt;
  }

 private:
  std::span<const Tensor> tensors_;
  const std::map<std::string, OutputForm>& given_;
  const OutputForms& forms_;
};

/// Returns `tensor` as scores of classes for `boxes` boxes, if it has that many rows or columns.
std::optional<ClassScores> AsClassScores(const Tensor& tensor, std::int64_t boxes) {
  const Dims& dims = tensor.dims();
  if (dims.size() != 3 || !IsFloat(tensor.dtype()) || tensor.size() == 0) return std::nullopt;
  if (dims[1] == boxes) return ClassScores{.tensor = tensor, .boxes = boxes, .classes = dims[2]};
  if (dims[2] != boxes) return std::nullopt;
  return ClassScores{.tensor = tensor, .boxes = boxes, .classes = dims[1], .classes_first = true};
}

/// Adds scores of each class, if an output has them.
bool TakeClassScores(const Outputs& all, std::size_t boxes, std::span<const Tensor> outputs,
                     const OutputForms& forms, OutputForm& form) {
  const std::int64_t count = outputs[boxes].dims()[1];
  const auto probable = all.Find(boxes, [&](const Tensor& tensor, std::size_t /*i*/) {
    return AsClassScores(tensor, count) && AreScores(tensor);
  });
  const auto named =
      probable ? probable : all.Find(boxes, [&](const Tensor& tensor, std::size_t i) {
        return AsClassScores(tensor, count) && HintOf(forms[i].name) == NameHint::kClasses;
      });
  if (!named) return false;
  form.scores = forms[*named].name;
  form.logits = !probable;
  form.background = BackgroundOf(*AsClassScores(outputs[*named], count), form.logits);
  return true;
}

/// Adds one score a box, and its class, if outputs have them.
bool TakeScores(const Outputs& all, std::size_t boxes, std::span<const Tensor> outputs,
                const OutputForms& forms, OutputForm& form) {
  const std::int64_t count = outputs[boxes].dims()[1];
  const auto fits = [&](const Tensor& tensor) {
    return tensor.dims().size() == 2 && tensor.dims()[1] == count;
  };
  const auto scores = all.Find(boxes, [&](const Tensor& tensor, std::size_t /*i*/) {
    return fits(tensor) && AreScores(tensor) && !AreClasses(tensor);
  });
  if (!scores) return false;
  form.scores = forms[*scores].name;
  const auto classes = all.Find(boxes, [&](const Tensor& tensor, std::size_t i) {
    return i != *scores && fits(tensor) && AreClasses(tensor);
  });
  if (classes) form.classes = forms[*classes].name;
  form.selected = !form.classes.empty() || AreSorted(outputs[*scores]);
  form.corners = form.corners || form.selected;
  return true;
}

[[noreturn]] void RefusePart(const std::string& boxes, const std::string& part) {
  throw UserError("output '" + boxes + "' cannot have its scores or classes in '" + part +
                  "'; name another output of the model");
}

}  // namespace

std::optional<OutputForm> AsCandidates(const Tensor& tensor, std::int64_t axis) {
  const Dims& dims = tensor.dims();
  const auto at = dims.begin() + axis;
  if (!IsFloat(tensor.dtype()) || tensor.size() == 0 || *at < kCorners) return std::nullopt;
  const std::int64_t inner =
      std::accumulate(at + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
  double corners = 0;
  double sides = 0;
  const std::int64_t rows = std::max(Counted(tensor) / *at, std::int64_t{1});
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto number = [&](std::int64_t c) {
      return NumberAt(tensor, (i / inner * *at + c) * inner + i % inner);
    };
    corners += number(2) >= number(0) && number(3) >= number(1) ? 1 : 0;
    sides += number(2) >= 0 && number(3) >= 0 ? 1 : 0;
  }
  const double least = kNearlyAll * static_cast<double>(rows);
  if (std::max(corners, sides) < least) return std::nullopt;
  return OutputForm{.kind = OutputKind::kBoxes, .axis = axis, .corners = corners >= least};
}

std::optional<OutputForm> AsSelected(const Tensor& tensor) {
  constexpr std::int64_t kNumbers = 6;
  const Dims& dims = tensor.dims();
  if (dims.size() != 3 || dims[2] != kNumbers || dims[1] < 2) return std::nullopt;
  const auto candidates = AsCandidates(tensor, 2);
  if (!candidates || !candidates->corners) return std::nullopt;
  for (std::int64_t i = 0; i < Counted(tensor) / kNumbers; ++i) {
    const double score = NumberAt(tensor, i * kNumbers + kCorners);
    const double label = NumberAt(tensor, i * kNumbers + kCorners + 1);
    const bool rises = i % dims[1] != 0 && score > NumberAt(tensor, (i - 1) * kNumbers + kCorners);
    if (!(score >= 0 && score <= 1) || rises || label != std::round(label)) return std::nullopt;
  }
  return OutputForm{.kind = OutputKind::kBoxes, .axis = 2, .corners = true, .selected = true};
}

void FindBoxes(std::span<const Tensor> outputs, const std::map<std::string, OutputForm>& given,
               OutputForms& forms) {
  const Outputs all(outputs, given, forms);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (given.contains(forms[i].name) || FindBoxesOf(forms, forms[i].name) != nullptr) continue;
    const Dims& dims = outputs[i].dims();
    if (dims.size() != 3 || dims[2] != kCorners) continue;
    std::optional<OutputForm> form = AsCandidates(outputs[i], 2);
    if (!form) continue;
    if (TakeClassScores(all, i, outputs, forms, *form) ||
        TakeScores(all, i, outputs, forms, *form)) {
      forms[i].form = *form;
    }
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
        RefusePart(name, part);
      }
    }
  }
}

}  // namespace msc::cost
