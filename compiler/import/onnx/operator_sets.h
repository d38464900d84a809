#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ops/onnx_sets.h"

namespace msc::detail {

using msc::kGraphOpset;
/// The newest operator set that is read. Of a newer one, operators are read that have not changed
/// since.
inline constexpr std::int64_t kNewestReadOpset = 28;

/// Returns the newest operator set of which it is known what it changed.
[[nodiscard]] std::int64_t ListedOpset();
/// Returns the operator set, after kGraphOpset and at most `opset`, that last added or changed an
/// operator of ai.onnx; 0 if none did. Source: the schemas of the onnx package
/// (scripts/operator_sets.py).
[[nodiscard]] std::int64_t LastChangeOf(std::string_view op, std::int64_t opset);

}  // namespace msc::detail
