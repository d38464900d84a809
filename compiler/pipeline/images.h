#pragma once

#include <string>
#include <vector>

#include "compiler/ir/extract.h"
#include "compiler/ir/graph.h"

namespace msc {

// How regions exchange images: values of four axes N, C, H, W. Dense they are in that order.
// Channels last they are dense in the order N, H, W, C, and their types say so: a region that
// exchanges them like that begins and ends with Transpose nodes, which a target that computes with
// channels last has nothing to do for.

/// Whether regions of `whole` may exchange `value` channels last: an image of several channels and
/// several positions, which are other bytes then, and no input or output of `whole`. Every size is
/// static. An image that more than four nodes read is always dense, as a search over regions has to
/// tell apart how each image is there that is still to be read, which multiplies: in a block of
/// DenseNet these are dozens.
[[nodiscard]] bool MayBeChannelsLast(const Graph& whole, ValueId value);

/// `part` of a graph, reading and making images channels last where its lists say so: one entry for
/// each input and output.
[[nodiscard]] Graph WithImagesChannelsLast(const Graph& part, const std::vector<bool>& inputs,
                                           const std::vector<bool>& outputs);

/// The same for a part that was extracted from `whole`: all that may be.
[[nodiscard]] Graph WithImagesChannelsLast(const Extracted& part, const Graph& whole);

/// Adds an input, a node that turns it from dense to channels last, or back, and what that makes as
/// an output. `type` is that of the dense image. Returns the name of the node.
std::string AddTurnOfImage(const ValueType& type, bool to_channels_last, Graph& graph);

}  // namespace msc
