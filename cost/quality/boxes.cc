#include "cost/quality/boxes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace msc::cost {
namespace {

constexpr std::size_t kCorners = 4;  // numbers of a box without scores
constexpr double kLeastOverlap = 0.5;
constexpr std::size_t kMostBoxes = 1000;  // that suppression looks at

double Area(const Box& box) {
  return std::max(box.x1 - box.x0, 0.0) * std::max(box.y1 - box.y0, 0.0);
}

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double SoftmaxAt(std::span<const double> row, std::size_t at) {
  double sum = 0;
  for (const double value : row) sum += std::exp(value - row[at]);
  return 1 / sum;
}

/// Returns the class with the highest score other than the background; nothing if there is none.
std::optional<std::size_t> BestObject(std::span<const double> scores, std::int64_t background) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (static_cast<std::int64_t>(i) == background) continue;
    if (!best || scores[i] > scores[*best]) best = i;
  }
  return best;
}

}  // namespace

double Iou(const Box& a, const Box& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const double both = std::max(width, 0.0) * std::max(height, 0.0);
  const double either = Area(a) + Area(b) - both;
  return either > 0 ? both / either : 0;
}

Box MakeBox(std::span<const double> candidate, const OutputForm& form) {
  Box box{candidate[0], candidate[1], candidate[2], candidate[3]};
  if (!form.corners && !form.selected) {
    const double width = box.x1;
    const double height = box.y1;
    box = {box.x0 - width / 2, box.y0 - height / 2, box.x0 + width / 2, box.y0 + height / 2};
  }
  std::span<const double> scores = candidate.subspan(kCorners);
  if (form.selected) {
    box.score = scores[0];
    box.label = scores.size() > 1 ? static_cast<std::int32_t>(std::lround(scores[1])) : 0;
    return box;
  }
  const auto probability = [&](double score) { return form.logits ? Sigmoid(score) : score; };
  double objectness = 1;
  if (form.objectness) {
    objectness = probability(scores[0]);
    scores = scores.subspan(1);
  }
  box.score = objectness;
  if (const auto best = BestObject(scores, form.background)) {
    box.label = static_cast<std::int32_t>(*best);
    const bool softmax = form.logits && form.background >= 0;
    box.score *= softmax ? SoftmaxAt(scores, *best) : probability(scores[*best]);
  }
  return box;
}

std::vector<Box> SelectBoxes(std::span<const double> candidates, std::size_t size,
                             const OutputForm& form) {
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < candidates.size() / size; ++i) {
    Box box = MakeBox(candidates.subspan(i * size, size), form);
    box.candidate = i;
    if (box.score >= form.score) boxes.push_back(box);
  }
  std::ranges::stable_sort(boxes, std::greater<>(), &Box::score);
  boxes.resize(std::min(boxes.size(), kMostBoxes));
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    const bool dropped = !form.selected && std::ranges::any_of(kept, [&](const Box& other) {
      return other.label == box.label && Iou(other, box) > form.overlap;
    });
    if (!dropped) kept.push_back(box);
  }
  return kept;
}

double BoxF1(std::span<const Box> wanted, std::span<const Box> found) {
  if (wanted.empty() && found.empty()) return 1;
  std::vector<bool> taken(wanted.size());
  double matches = 0;
  for (const Box& box : found) {
    std::size_t best = wanted.size();
    double most = kLeastOverlap;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (taken[i] || wanted[i].label != box.label) continue;
      const double iou = Iou(wanted[i], box);
      if (iou < most || (iou == most && best < wanted.size())) continue;
      best = i;
      most = iou;
    }
    if (best == wanted.size()) continue;
    taken[best] = true;
    matches += 1;
  }
  return 2 * matches / static_cast<double>(wanted.size() + found.size());
}

}  // namespace msc::cost
