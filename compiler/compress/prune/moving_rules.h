#pragma once

#include "compiler/compress/prune/node_axes.h"

namespace msc {

// Rules of relations.cc for operators that compute nothing: they move, group or repeat entries.

void RelateConcat(NodeAxes& node);
void RelateSplit(NodeAxes& node);
void RelateSlice(NodeAxes& node);
void RelateGather(NodeAxes& node);
void RelateTranspose(NodeAxes& node);
void RelateSqueeze(NodeAxes& node);  ///< Unsqueeze too
void RelateFlatten(NodeAxes& node);
void RelateReshape(NodeAxes& node);
void RelateSameSizes(NodeAxes& node);  ///< Expand, Tile, Pad, Resize

}  // namespace msc
