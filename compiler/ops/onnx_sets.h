#pragma once

#include <cstdint>

namespace msc {

/// The operator set of ONNX that graphs have, but for what came later and is an operator or an
/// attribute of this folder, too.
inline constexpr std::int64_t kGraphOpset = 17;
/// The newest operator set that is written.
inline constexpr std::int64_t kNewestOpset = 27;

}  // namespace msc
