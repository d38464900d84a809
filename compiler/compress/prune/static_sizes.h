#pragma once

#include <map>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/graph.h"

namespace msc {

/// The sizes of the values of a graph, with shape arithmetic evaluated.
struct StaticSizes {
  /// Symbols count as 1 or, where that does not fit, as the next of a few sizes. Values without a
  /// size before running are missing.
  std::map<ValueId, Dims> dims;
  /// For each of these values, whether a size is known only when the model runs, by axis.
  std::map<ValueId, std::vector<bool>> open;
};
[[nodiscard]] StaticSizes ReadStaticSizes(const Graph& graph);

/// Returns the sizes of values with symbols bound to these sizes. UserError if they do not fit.
[[nodiscard]] std::map<ValueId, Dims> SizesAt(const Graph& graph, const ShapeBindings& sizes);

}  // namespace msc
