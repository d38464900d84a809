#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <vector>

#include "compiler/targets/onednn/elementwise.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// Elementwise nodes after a node that its primitive can compute as well. Each is the only reader
/// of the one before.
struct Followers {
  std::vector<NodeId> nodes = {};
  /// In order; fewer than nodes where linear ones are merged.
  std::vector<Function> functions = {};
  ValueId output = kNoValue;  ///< output of the last node
};

/// Returns the longest chain of followers of `value`, to which the primitive already applies
/// `functions`. No function occurs twice in one primitive, because oneDNN 2.6 then computes wrong
/// results.
[[nodiscard]] Followers FollowersOf(const Lowering& lowering, ValueId value,
                                    std::vector<Function> functions);

}  // namespace msc::onednn
