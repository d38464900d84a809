#pragma once

#include <string_view>

namespace msc::cost {

/// What the name of an output says about its numbers.
enum class NameHint : unsigned char {
  kNone,
  kClasses,    ///< "logits", "cls_score"
  kMask,       ///< "seg", "mask": classes of a map
  kEmbedding,  ///< "embedding", "features"
  kNumbers,    ///< "landmarks", "boxes", "depth"
};

/// Returns what a name says; of several words the last one decides: "box_scores" are scores. Words
/// count from their beginning, also within CamelCase: "bodyPose" names a pose, "Transpose_3" and
/// "depthwise" name operators.
[[nodiscard]] NameHint HintOf(std::string_view name);

}  // namespace msc::cost
