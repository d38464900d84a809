#pragma once

#include <set>

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// Where the kernel of `group` reads a tensor as large as its result, each element where it then
/// writes one, and nobody reads that memory afterwards, places the result there: a third less
/// memory goes through the caches in a sum of two. To be called before the group is lowered; `done`
/// are the nodes of the region that are computed by calls made so far.
void PlaceOver(Lowering& lowering, const Group& group, const std::set<NodeId>& done);

}  // namespace msc::native
