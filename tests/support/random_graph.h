#pragma once

#include <cstdint>
#include <string>

#include "compiler/base/rng.h"
#include "compiler/ir/graph.h"

namespace msc {

/// Returns a random graph that Verify accepts but no operator schema does. It uses all that a Graph
/// can hold: every element type, attribute kind and container, nested graphs with captures, absent
/// inputs and outputs, symbolic and unknown shapes, NaNs, and names of arbitrary bytes. The same
/// seed gives the same graph.
[[nodiscard]] Graph RandomGraph(std::uint64_t seed);

/// Returns random bits of any element type, and texts of arbitrary bytes for strings.
[[nodiscard]] Tensor RandomTensor(DType dtype, Dims dims, Rng& rng);

/// Returns a plain word, an ONNX-like path, or a text with quotes, control characters, UTF-8 or
/// invalid UTF-8.
[[nodiscard]] std::string RandomText(Rng& rng);

/// Returns `text` with a few bytes flipped, removed, doubled or cut off.
[[nodiscard]] std::string Mutated(std::string text, Rng& rng);

}  // namespace msc
