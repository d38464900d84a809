#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace msc::detail {

/// Returns the topological order nearest to 0, 1, 2, ...: at each step the first node whose inputs
/// are available. `needs[i]` lists the nodes whose outputs node i reads; repeats are allowed.
/// Returns nullopt if the nodes form a cycle. Kahn's algorithm with a heap, O((nodes + edges) log
/// nodes), no recursion. Source: Kahn 1962, Topological sorting of large networks.
[[nodiscard]] std::optional<std::vector<std::size_t>> StableOrder(
    const std::vector<std::vector<std::size_t>>& needs);

}  // namespace msc::detail
