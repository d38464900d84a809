#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace msc {

// Text form of a graph. One statement per line; `#` starts a comment.
//
//   graph main {
//     meta "onnx.opset" = "17"
//     input %x : f32[batch,3,8,8] NCHW
//     const %w : f32[2,3,1,1] = [1, 2, 3, 4, 5, 6]
//     %y = Conv(%x, %w, _) @conv1 {group = 1, pads = [0, 0, 0, 0]} : f32[batch,2,8,8] NCHW
//     %z, _ = msc.Split(%y) {ratio = 0.5, mode = "half"} : f32[batch,1,8,8], _
//     %i = If(%c) captures(%z) {then_branch = graph then { captured %z : f32[?] output %z }}
//     output %z
//   }
//
// Names: %value, @node; %"any text" if a name has characters other than letters, digits and
// `_ . / $ -`. `_` is an absent input or output; `() = Op(%x)` has no outputs. An operator of
// another domain is written `domain.Op`.
// Types: `f32[2,?,n]` (number, unknown, symbol), `f32[*]` (unknown rank), `seq(T)`, `opt(T)`,
// `opt(seq(T))`. An omitted type is `undef[*]`.
// Attributes: integers `1`, floats `1.0`, strings "text", lists of these; `tensor TYPE = VALUES`,
// `graph NAME {...}`, lists of these. An empty list is `ints[]`, `floats[]`, `strings[]`,
// `tensors[]` or `graphs[]`.
// Values of constants: `[...]` in row-major order, `hex "00ff"` (little-endian bytes), `splat 0.5`,
// or `random 7` (a seed): standard normal for floats, -127..127 for signed integers, 0..255 for
// unsigned ones. Complex numbers are `(re, im)`; `nan(0x7fc00001)` gives the bits.
// An omitted node name becomes the operator's name, made unique. An omitted `captures(...)` becomes
// the list of values that the nested graphs capture.

/// Form of constants with more elements than PrintOptions::inline_elements.
enum class LargeConstants : std::uint8_t {
  kBytes,  ///< all bytes in hex: the text parses back to the same graph
  kElide,  ///< `...`, for human readers; the parser rejects it
};

struct PrintOptions {
  std::size_t inline_elements = 64;
  LargeConstants large = LargeConstants::kBytes;
};

/// Returns the text of a graph that Verify accepts. ParseGraph(Print(graph)) is the SameGraph.
[[nodiscard]] std::string Print(const Graph& graph, const PrintOptions& options = {});

/// Parses the form above and verifies the graph. Throws UserError "graph text, LINE:COLUMN: ..."
/// for malformed text. Memory use is proportional to the text, except that `splat` and `random` may
/// generate up to 64 MiB in all.
[[nodiscard]] Graph ParseGraph(std::string_view text);

}  // namespace msc
