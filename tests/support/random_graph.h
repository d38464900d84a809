#pragma once

#include <cstdint>
#include <string>

#include "compiler/base/rng.h"
#include "compiler/ir/graph.h"

namespace msc {

/// A graph that Verify accepts and no operator schema does: it uses all that a Graph can hold, such
/// as every element type, attribute kind and container, nested graphs with captures, absent inputs
/// and outputs, symbolic and unknown shapes, NaNs, and names of any bytes. The same seed gives the
/// same graph.
[[nodiscard]] Graph RandomGraph(std::uint64_t seed);

/// Random bits of any element type; texts of any bytes for strings.
[[nodiscard]] Tensor RandomTensor(DType dtype, Dims dims, Rng& rng);

/// Plain words, ONNX-like paths, quotes, control characters, UTF-8 and bytes that are none.
[[nodiscard]] std::string RandomText(Rng& rng);

/// `text` with a few bytes flipped, removed, doubled or cut off.
[[nodiscard]] std::string Mutated(std::string text, Rng& rng);

}  // namespace msc
