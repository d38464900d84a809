#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/compiler/targets/contract_cases.h"

namespace msc {

/// `count` small graphs of a kind: of one node ("conv", "fused_conv", "pool", "gemm", "matmul",
/// "binary", "unary", "softmax", "concat") or of one between conversions ("quantized"): odd and
/// uneven sizes, groups, dilations, uneven padding, broadcasting, and now and then a dimension of
/// size 0. The same seed gives the same graphs.
[[nodiscard]] std::vector<GraphCase> GenerateCases(const std::string& kind, std::uint64_t seed,
                                                   int count);

/// The kinds there are.
[[nodiscard]] std::vector<std::string> GeneratedKinds();

}  // namespace msc
