#pragma once

#include "compiler/compress/prune/node_axes.h"

namespace msc {

// Rules of relations.cc for operators that only move, group or repeat elements.

void RelateConcat(NodeAxes& node);
void RelateSplit(NodeAxes& node);
void RelateSlice(NodeAxes& node);
void RelateGather(NodeAxes& node);
void RelateGatherNd(NodeAxes& node);
void RelateGatherElements(NodeAxes& node);
void RelateBlocks(NodeAxes& node);  ///< DepthToSpace, SpaceToDepth
void RelateTranspose(NodeAxes& node);
void RelateSqueeze(NodeAxes& node);  ///< also Unsqueeze
void RelateFlatten(NodeAxes& node);
void RelateReshape(NodeAxes& node);
void RelateShape(NodeAxes& node);
void RelatePad(NodeAxes& node);
void RelateSameSizes(NodeAxes& node);  ///< Expand, Tile, Resize

}  // namespace msc
