#pragma once

#include <set>

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// Places the result of `group` over an operand, if the kernel reads each element of that operand
/// only where it then writes one and no later node reads that memory. In a sum of two this saves a
/// third of the memory traffic. Call it before lowering the group; `done` holds the nodes of the
/// region that the calls so far compute.
void PlaceOver(Lowering& lowering, const Group& group, const std::set<NodeId>& done);

}  // namespace msc::native
