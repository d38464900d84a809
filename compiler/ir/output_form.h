#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/enum_form.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"

namespace msc {

/// What the numbers of an output mean. It decides how outputs are compared
/// (cost/model/loss.h) and what distillation trains.
enum class OutputKind : unsigned char {
  kLogits,         ///< scores of classes along an axis, before a softmax
  kProbabilities,  ///< probabilities of classes along an axis, as a softmax gives them
  kLogit,          ///< every number is a score before a sigmoid
  kBinary,         ///< every number is a probability by itself, as a sigmoid gives it
  kRegression,     ///< numbers without decisions
  kSeries,         ///< numbers of several units along the last axis, each with its own deviation
  kEmbedding,      ///< vectors along the last axis, compared by direction
  kBoxes,          ///< candidates for boxes with scores
  kIntegers,       ///< class numbers, indices, tokens
  kCtc,            ///< probabilities or logits of classes along an axis, one row for each time step
};
inline constexpr std::array<std::string_view, 10> kOutputKinds = {
    "logits", "probabilities", "logit", "binary",   "regression",
    "series", "embedding",     "boxes", "integers", "ctc"};

/// How an output is compared. `kind` alone suffices; the rest has defaults that fit most models.
struct OutputForm {
  OutputKind kind = OutputKind::kRegression;
  /// Axis of the classes, or of the numbers of a box; below 0 from the end.
  std::int64_t axis = -1;
  std::int64_t blank = 0;    ///< ctc: class that separates; below 0 from the end
  bool corners = false;      ///< boxes: x0, y0, x1, y1 instead of centre, width and height
  bool objectness = false;   ///< boxes: a score precedes those of the classes and multiplies them
  bool logits = false;       ///< ctc, boxes: scores are those before a softmax, or a sigmoid
  bool selected = false;     ///< boxes: final ones: box, score, class
  std::string scores = {};   ///< boxes: output [N, boxes, classes] or [N, boxes] with their scores
  std::string classes = {};  ///< boxes: output [N, boxes] with their class numbers
  std::int64_t background = -1;  ///< boxes: class of what is no object; -1 = none
  double score = 0.25;           ///< boxes: least score of a box that counts
  double overlap = 0.45;  ///< boxes: of two that overlap more (IoU), the lower score is dropped
  bool operator==(const OutputForm&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit(
        "kind", self.kind,
        "logits or probabilities (of classes along `axis`), logit or binary (every number by "
        "itself, before or after a sigmoid), regression, series (numbers of several units along "
        "the last axis), embedding, boxes, integers, or ctc (a row of classes for each time step)");
    visit("axis", self.axis,
          "axis of the classes, or of the numbers of a box; below 0 from the end", Within{-16, 15});
    visit("blank", self.blank,
          "ctc: number of the class that separates others; below 0 from the end",
          Within{-1e6, 1e6});
    visit("corners", self.corners,
          "boxes: whether they are x0, y0, x1, y1 instead of centre, width and height");
    visit("objectness", self.objectness,
          "boxes: whether a score precedes the scores of the classes and multiplies them");
    visit("logits", self.logits,
          "ctc, boxes: whether scores are those before a softmax, or a sigmoid");
    visit("selected", self.selected,
          "boxes: whether the model has selected them, and a row is box, score, class");
    visit(
        "scores", self.scores,
        "boxes: output with the scores, [N, boxes, classes] or [N, boxes]; empty = a row is a box "
        "and its scores");
    visit("classes", self.classes,
          "boxes: output with the class numbers of boxes that the model has selected, [N, boxes]");
    visit("background", self.background,
          "boxes: number of the class of what is no object; -1 = there is none", Within{-1, 1e6});
    visit("score", self.score, "boxes: least score of a box that counts", Within{0, 1});
    visit(
        "overlap", self.overlap,
        "boxes: if two of a class overlap by more than this (IoU), the lower score is dropped; 1 = "
        "none is",
        Within{0, 1});
  }
};

/// An output of a model with its form.
struct NamedForm {
  std::string name;
  OutputForm form;
  bool operator==(const NamedForm&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "name of the output");
    visit("form", self.form, "how it is compared");
  }
};
using OutputForms = std::vector<NamedForm>;

/// Returns the output whose boxes have their scores or classes in output `name`; nullptr if there
/// is none.
[[nodiscard]] const NamedForm* FindBoxesOf(const OutputForms& forms, const std::string& name);

/// Returns "logits along axis 1", "boxes (x0, y0, x1, y1) along axis 2, scores in 'conf'".
[[nodiscard]] std::string FormatForm(const OutputForm& form);

template <>
struct StringForm<OutputKind> : EnumForm<OutputKind, kOutputKinds> {};

}  // namespace msc
