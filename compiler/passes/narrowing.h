#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"

namespace msc {

/// How real numbers are stored in fewer bits: as integers with scales, or as bf16.
struct Narrowing {
  DType dtype = DType::kUndefined;        ///< kI8, kU8, kI32 or kBF16
  std::vector<float> scales;              ///< one, or one per entry of `axis`; empty for bf16
  std::vector<std::int64_t> zero_points;  ///< as many as scales
  std::int64_t axis = 0;                  ///< as written in the node; 0 when there is one scale
  bool operator==(const Narrowing&) const = default;

  [[nodiscard]] bool IsBF16() const { return dtype == DType::kBF16; }
  /// i8 or u8 with one scale for the whole tensor.
  [[nodiscard]] bool IsPerTensorInt8() const;
  /// The one scale and zero point; {1, 0} for bf16.
  [[nodiscard]] QuantParams Params() const;
};

/// What a node that turns f32 into a narrow type does: QuantizeLinear with constant parameters, or
/// Cast from f32 to bf16. Scales are positive and finite here and below.
[[nodiscard]] std::optional<Narrowing> ReadNarrowing(const Graph& graph, NodeId id);

/// What a node that turns a narrow type into f32 does: DequantizeLinear with constant parameters,
/// or Cast from bf16 to f32.
[[nodiscard]] std::optional<Narrowing> ReadWidening(const Graph& graph, NodeId id);

/// A value in its narrow form.
struct NarrowValue {
  ValueId value = kNoValue;
  NodeId widening = kNoNode;  ///< the node that made f32 of it
  Narrowing form;
};

/// If `value` is made by a widening node: what that node reads.
[[nodiscard]] std::optional<NarrowValue> NarrowSource(const Graph& graph, ValueId value);

/// Merges narrowing nodes that do the same to the same value. Exact.
bool MergeEqualNarrowings(Graph& graph);

/// Moves widening nodes behind operators that only move or select values (Reshape, Flatten,
/// Transpose, Squeeze, Unsqueeze, MaxPool, Concat of equal forms), and narrowing nodes in front of
/// the first five, so that those run on the narrow type. Exact. MaxPool becomes msc.Pool.
bool MoveNarrowing(Graph& graph);

}  // namespace msc
