#pragma once

// Format that the writer and the reader of GraphFiles share. Private to compiler/ir.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "compiler/ir/attr.h"
#include "compiler/ir/serialize.h"

namespace msc::detail {

inline constexpr std::string_view kGraphFormat = "msc-graph-1";

/// Indexed by Container.
inline constexpr std::array<std::string_view, 4> kContainers = {"tensor", "seq", "opt", "opt_seq"};

/// Indexed by the alternatives of Attr.
inline constexpr std::array<std::string_view, std::variant_size_v<Attr>> kAttrKinds = {
    "int", "float", "string", "ints", "floats", "strings", "tensor", "graph", "tensors", "graphs"};

/// Rounds up to a multiple of 64: the size of a cache line, enough for aligned loads of any width.
[[nodiscard]] constexpr std::size_t AlignUp(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

using AppendWeights = std::function<void(std::string_view bytes)>;

/// Returns the JSON of GraphFiles. Passes the weights to `append` in pieces, in order, so that the
/// bytes are not held a second time.
[[nodiscard]] std::string WriteGraph(const Graph& graph, TensorDigests& digests,
                                     const AppendWeights& append);

/// The weights of GraphFiles, wherever they are.
struct StoredWeights {
  std::uint64_t size = 0;  ///< in bytes
  /// Fills `out` from `offset` on; both lie in the weights.
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> read;
};

/// Does what FromFiles does. Reads each tensor straight into its own memory.
[[nodiscard]] Graph ReadGraph(const std::string& json, const StoredWeights& weights,
                              const std::string& what);

}  // namespace msc::detail
