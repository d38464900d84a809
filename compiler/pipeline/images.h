#pragma once

#include <string>
#include <vector>

#include "compiler/ir/extract.h"
#include "compiler/ir/graph.h"

namespace msc {

// How regions exchange images, which are values with four axes N, C, H, W. A dense image is stored
// in that order. A channels-last image is stored densely in the order N, H, W, C, and its type says
// so. A region that exchanges channels-last images begins and ends with Transpose nodes, which cost
// nothing on a target that computes channels last.

/// Returns whether regions of `whole` may exchange `value` channels last: an image with several
/// channels and several positions (otherwise both layouts are equal in memory) that is no input or
/// output of `whole`. All sizes must be static. An image that more than four nodes read is always
/// dense: a search over regions tracks the layouts of each image that is still to be read, and
/// their combinations multiply; a block of DenseNet has dozens.
[[nodiscard]] bool MayBeChannelsLast(const Graph& whole, ValueId value);

/// Returns `part`, changed to read and make images channels last where the lists say so. They have
/// one entry for each input and output.
[[nodiscard]] Graph WithImagesChannelsLast(const Graph& part, const std::vector<bool>& inputs,
                                           const std::vector<bool>& outputs);

/// Does the same for a part that was extracted from `whole`, for all images that may be channels
/// last.
[[nodiscard]] Graph WithImagesChannelsLast(const Extracted& part, const Graph& whole);

/// Adds an input, a node that converts it from dense to channels last or back, and the result as an
/// output. `type` is that of the dense image. Returns the name of the node.
std::string AddLayoutConversion(const ValueType& type, bool to_channels_last, Graph& graph);

}  // namespace msc
