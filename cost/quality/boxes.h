#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/output_form.h"

namespace msc::cost {

/// A box with its score and class.
struct Box {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;
  double score = 0;
  std::int32_t label = 0;
  std::size_t candidate = 0;  ///< number of the candidate that it was made of
};

/// Returns the intersection over union; 0 if both are empty.
[[nodiscard]] double Iou(const Box& a, const Box& b);

/// Makes a box of one candidate: box, objectness if the form has it, and scores; or box, score and
/// class. It has the class of the highest score. Scores before a softmax are those of classes one
/// of which is the background; others come before a sigmoid.
[[nodiscard]] Box MakeBox(std::span<const double> candidate, const OutputForm& form);

/// Returns the boxes of one sample that count: with at least form.score, and without those that
/// overlap another of the same class with a higher score by more than form.overlap (greedy
/// non-maximum suppression among the first 1000). Boxes come by falling score. `candidates` has
/// `size` numbers for each.
[[nodiscard]] std::vector<Box> SelectBoxes(std::span<const double> candidates, std::size_t size,
                                           const OutputForm& form);

/// Returns the F1 score of `found` against `wanted`: a box matches an unmatched one of its class
/// that it overlaps (IoU) most, by at least 0.5; higher scores choose first. 1 if both are empty.
[[nodiscard]] double BoxF1(std::span<const Box> wanted, std::span<const Box> found);

}  // namespace msc::cost
