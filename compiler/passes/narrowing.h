#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"

namespace msc {

/// Storage format of real numbers in fewer bits: integers with scales, or bf16. A narrowing node
/// converts f32 to such a format, a widening node converts it back to f32.
struct Narrowing {
  DType dtype = DType::kUndefined;             ///< kI8, kU8, kI32 or kBF16
  std::vector<float> scales = {};              ///< one, or one per entry of `axis`; empty for bf16
  std::vector<std::int64_t> zero_points = {};  ///< one per scale
  std::int64_t axis = 0;                       ///< as in the node; 0 if there is one scale
  bool operator==(const Narrowing&) const = default;

  [[nodiscard]] bool IsBF16() const { return dtype == DType::kBF16; }
  /// Returns whether this is i8 or u8 with one scale for the whole tensor.
  [[nodiscard]] bool IsPerTensorInt8() const;
  /// Returns the single scale and zero point; {1, 0} for bf16.
  [[nodiscard]] QuantParams Params() const;
};

/// Returns the format of a node that converts f32 to a narrow type: QuantizeLinear with constant
/// parameters, or Cast from f32 to bf16; otherwise nullopt. Scales are positive and finite here and
/// below.
[[nodiscard]] std::optional<Narrowing> ReadNarrowing(const Graph& graph, NodeId id);

/// Returns the format of a node that converts a narrow type to f32: DequantizeLinear with constant
/// parameters, or Cast from bf16 to f32; otherwise nullopt.
[[nodiscard]] std::optional<Narrowing> ReadWidening(const Graph& graph, NodeId id);

/// A value in its narrow form.
struct NarrowValue {
  ValueId value = kNoValue;
  NodeId widening = kNoNode;  ///< the node that converts it to f32
  Narrowing form;
};

/// Returns the input of the widening node that produces `value`, if there is one.
[[nodiscard]] std::optional<NarrowValue> NarrowSource(const Graph& graph, ValueId value);

/// Merges narrowing nodes that convert the same value to the same format. Exact.
bool MergeEqualNarrowings(Graph& graph);

}  // namespace msc
