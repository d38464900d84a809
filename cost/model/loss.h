#pragma once

#include <array>
#include <string>
#include <string_view>

namespace msc::cost {

// Losses: how far the outputs of a candidate are from those of the uncompressed model, as means
// over samples. 0 is the best. The formulas are in quality/distances.h.
inline constexpr std::string_view kDistillLoss = "distill_loss";
inline constexpr std::string_view kDisagreement = "disagreement";
inline constexpr std::string_view kRelativeError = "relative_error";
inline constexpr std::string_view kCosineDistance = "cosine_distance";
inline constexpr std::string_view kIouLoss = "iou_loss";
inline constexpr std::string_view kBoxLoss = "box_loss";
inline constexpr std::string_view kEditDistance = "edit_distance";
// Losses against labels: how much worse the score is than that of the uncompressed model; below 0
// if it is better.
inline constexpr std::string_view kAccuracyDrop = "accuracy_drop";
inline constexpr std::string_view kIouDrop = "iou_drop";
inline constexpr std::string_view kF1Drop = "f1_drop";
inline constexpr std::string_view kEditDistanceRise = "edit_distance_rise";
inline constexpr std::string_view kRelativeErrorRise = "relative_error_rise";

/// Describes a loss to people.
struct LossInfo {
  std::string_view name;
  std::string_view title;
  std::string_view unit;  ///< "nats", "%", "points", or empty
  std::string_view help;
  bool percent = false;  ///< a share of samples or of their parts, in percent
  /// Of a loss against labels what it is a difference of, in % if the unit is points; else empty.
  std::string_view score = {};
};

inline constexpr auto kLosses = std::to_array<LossInfo>({
    {kDistillLoss, "distillation loss", "nats",
     "KL divergence of the probabilities of classes or decisions; of numbers, embeddings and "
     "boxes half the squared error in units of the output's variance"},
    {kDisagreement, "disagreement", "%",
     "decisions that change: classes, signs, nearest neighbours of embeddings, decoded sequences, "
     "boxes without a match",
     true},
    {kRelativeError, "relative error", "", "RMS error in units of the output's standard deviation"},
    {kCosineDistance, "cosine distance", "", "1 - cosine of the angle between embeddings"},
    {kIouLoss, "IoU loss", "%", "100 - mean IoU of the maps of classes", true},
    {kBoxLoss, "box loss", "%", "100 - F1 of boxes that overlap (IoU) by at least 0.5", true},
    {kEditDistance, "edit distance", "%",
     "edits between decoded sequences, relative to their length"},
    {kAccuracyDrop, "accuracy drop", "points", "loss of accuracy, below 0 for a gain", true,
     "accuracy"},
    {kIouDrop, "IoU drop", "points", "loss of mean IoU with label maps, below 0 for a gain", true,
     "mean IoU with labels"},
    {kF1Drop, "F1 drop", "points",
     "loss of F1 of boxes that overlap labelled ones (IoU) by at least 0.5, below 0 for a gain",
     true, "F1 of boxes"},
    {kEditDistanceRise, "edit distance rise", "%",
     "rise of the edit distance from labels relative to their length, below 0 for a gain", false,
     "edit distance from labels"},
    {kRelativeErrorRise, "relative error rise", "",
     "rise of the RMS error against labels, in units of their standard deviation; below 0 for a "
     "gain",
     false, "relative error against labels"},
});

/// Returns whether a loss is against labels.
[[nodiscard]] bool IsAgainstLabels(std::string_view name);

/// Returns the title of a loss: "disagreement", "IoU loss of 'mask'" for "iou_loss:mask". The title
/// of a user's own metric is its name.
[[nodiscard]] std::string TitleOf(std::string_view name);

/// Returns the loss of that name, or nullptr; those of users' own metrics are not among them. A
/// name may end in ":OUTPUT".
[[nodiscard]] const LossInfo* FindLoss(std::string_view name);

}  // namespace msc::cost
