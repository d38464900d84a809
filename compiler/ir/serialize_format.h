#pragma once

// What writer and reader of a graph's files agree on. Private to compiler/ir.

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "compiler/ir/attr.h"
#include "compiler/ir/serialize.h"

namespace msc::detail {

inline constexpr std::string_view kGraphFormat = "msc-graph-1";

/// By Container.
inline constexpr std::array<std::string_view, 4> kContainers = {"tensor", "seq", "opt", "opt_seq"};

/// By index in Attr.
inline constexpr std::array<std::string_view, std::variant_size_v<Attr>> kAttrKinds = {
    "int", "float", "string", "ints", "floats", "strings", "tensor", "graph", "tensors", "graphs"};

/// The next multiple of 64: a cache line, and what an aligned load of any width needs.
[[nodiscard]] constexpr std::size_t AlignUp(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

using AppendWeights = std::function<void(std::string_view bytes)>;

/// The JSON of GraphFiles; `append` hears the weights in pieces, in order, so that they are held
/// once.
[[nodiscard]] std::string WriteGraph(const Graph& graph, TensorDigests& digests,
                                     const AppendWeights& append);

}  // namespace msc::detail
