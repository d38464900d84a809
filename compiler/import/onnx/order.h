#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace msc::detail {

/// The topological order nearest to 0, 1, 2, ...: of all nodes that could stand next, the first.
/// `needs[i]` lists the nodes whose outputs node i reads (repeats allowed). No order exists where
/// nodes form a cycle. Kahn's algorithm with a heap, O((nodes + edges) log nodes), no recursion.
/// Source: Kahn 1962, Topological sorting of large networks.
[[nodiscard]] std::optional<std::vector<std::size_t>> StableOrder(
    const std::vector<std::vector<std::size_t>>& needs);

}  // namespace msc::detail
