#pragma once

// Internal to this folder: includes xnnpack.h.

#include <limits>
#include <optional>

#include "compiler/ops/fused.h"
#include "compiler/targets/xnnpack/lowering.h"

namespace msc::xnnpack {

/// The range to which the library clamps results.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
/// Returns the clamp of Relu, Clip or no activation; nullopt for other activations.
[[nodiscard]] std::optional<Clamp> ClampOf(const Activation& activation);

/// Returns the shape as the library expects it: for four dimensions in kChannelsLast, N, H, W, C.
[[nodiscard]] std::vector<std::size_t> ShapeIn(const Dims& dims, Layout layout);
/// Returns kChannelsLast for values of four dimensions, else kDense.
[[nodiscard]] Layout LayoutOf(const Dims& dims);

/// An activation computed by operators of its own, from one buffer into another. `slope` is for
/// PRelu.
struct ActivationCall {
  Activation activation = {};
  ValueId like = kNoValue;  ///< a value of the same shape
  ValueId slope = kNoValue;
  Layout layout = Layout::kDense;
  BufferId from{};
  BufferId into{};
  NodeId node = kNoNode;
};
[[nodiscard]] bool AddActivation(Lowering& lowering, const ActivationCall& call);

/// An operator on two operands that broadcast, both in the same layout.
struct BinaryCall {
  std::string op;  ///< Add, Sub, Mul, Div, Max or Min
  Clamp clamp = {};
  std::vector<std::size_t> a_shape = {};
  std::vector<std::size_t> b_shape = {};
  BufferId a{};
  BufferId b{};
  BufferId into{};
  NodeId node = kNoNode;
};
[[nodiscard]] bool AddBinary(Lowering& lowering, const BinaryCall& call);

// One function per family of operators. Each returns false if the library cannot compute the node.
[[nodiscard]] bool LowerConv(Lowering& lowering, NodeId id);        // layer.cc
[[nodiscard]] bool LowerGemm(Lowering& lowering, NodeId id);        // layer.cc
[[nodiscard]] bool LowerPool(Lowering& lowering, NodeId id);        // pool.cc
[[nodiscard]] bool LowerActivation(Lowering& lowering, NodeId id);  // elementwise.cc
[[nodiscard]] bool LowerBinary(Lowering& lowering, NodeId id);      // elementwise.cc
[[nodiscard]] bool LowerConcat(Lowering& lowering, NodeId id);      // elementwise.cc
[[nodiscard]] bool LowerSoftmax(Lowering& lowering, NodeId id);     // elementwise.cc

}  // namespace msc::xnnpack
