#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace msc {

// The readable form of a graph. One statement a line; `#` starts a comment.
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
// Names: %value, @node; %"any text" where a name is not of letters, digits and `_ . / $ -`. `_` is
// an absent input or output; `() = Op(%x)` has no outputs. An operator of another domain is
// `domain.Op`.
// Types: `f32[2,?,n]` (number, unknown, symbol), `f32[*]` (rank unknown), `seq(T)`, `opt(T)`,
// `opt(seq(T))`; a layout follows on the same line. A type left out is `undef[*]`.
// Attributes: `1` is an integer, `1.0` a float, then "text", lists of them, `tensor TYPE = VALUES`,
// `graph NAME {...}`, lists of these; an empty list is `ints[]`, `floats[]`, `strings[]`,
// `tensors[]` or `graphs[]`.
// Values of constants: `[...]` in row-major order, `hex "00ff"` (little-endian bytes), `splat 0.5`,
// or `random 7`: seeded, standard normal for floats, -127..127 for signed integers, 0..255 for
// unsigned ones. Complex numbers are `(re, im)`; `nan(0x7fc00001)` gives the bits.
// A node name left out becomes the operator's name, made unique. `captures(...)` left out becomes
// what the nested graphs capture.

/// What becomes of constants with more elements than PrintOptions::inline_elements.
enum class LargeConstants : std::uint8_t {
  kBytes,  ///< all bytes in hex: the text parses back to the same graph
  kElide,  ///< `...`, for people; the parser refuses it
};

struct PrintOptions {
  std::size_t inline_elements = 64;
  LargeConstants large = LargeConstants::kBytes;
};

/// The text of a graph that Verify accepts. ParseGraph(Print(graph)) is the SameGraph.
[[nodiscard]] std::string Print(const Graph& graph, const PrintOptions& options = {});

/// Reads the form above and verifies the graph. Throws UserError "graph text, LINE:COLUMN: ..." for
/// text of another form. Memory stays in proportion to the text, but for `splat` and `random`,
/// which may make 64 MiB in all.
[[nodiscard]] Graph ParseGraph(std::string_view text);

}  // namespace msc
