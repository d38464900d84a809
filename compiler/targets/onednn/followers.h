#pragma once

// Of this folder only: brings dnnl.hpp (by desc.h).

#include <vector>

#include "compiler/targets/onednn/elementwise.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// Elementwise nodes behind a node that its primitive can do on the way out: each is the only
/// reader of the one before.
struct Followers {
  std::vector<NodeId> nodes;
  std::vector<Function> functions;  ///< in order; may be fewer than nodes, linear ones are merged
  ValueId output = kNoValue;        ///< of the last node
};

/// The longest run behind `value`, which `functions` have been applied to already. oneDNN 2.6
/// computes wrongly where one primitive has the same function twice, so none comes twice.
[[nodiscard]] Followers FollowersOf(const Lowering& lowering, ValueId value,
                                    std::vector<Function> functions);

}  // namespace msc::onednn
