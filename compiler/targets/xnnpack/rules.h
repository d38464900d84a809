#pragma once

// Of this folder only: brings xnnpack.h.

#include <limits>
#include <optional>

#include "compiler/ops/fused.h"
#include "compiler/targets/xnnpack/lowering.h"

namespace msc::xnnpack {

/// What the library clamps results to.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
/// Of Relu, Clip and no activation; none for the others.
[[nodiscard]] std::optional<Clamp> ClampOf(const Activation& activation);

/// The shape as the library takes it: channels last for four dimensions.
[[nodiscard]] std::vector<std::size_t> ShapeIn(const Dims& dims, Layout layout);
/// Channels last for values of four dimensions.
[[nodiscard]] Layout LayoutOf(const Dims& dims);

/// An activation by operators of its own, from one buffer into another. `slope` is for PRelu.
struct ActivationCall {
  Activation activation;
  ValueId like = kNoValue;  ///< a value of the shape
  ValueId slope = kNoValue;
  Layout layout = Layout::kDense;
  BufferId from{};
  BufferId into{};
  NodeId node = kNoNode;
};
[[nodiscard]] bool AddActivation(Lowering& lowering, const ActivationCall& call);

/// Adds an operator over two operands that broadcast, both in `layout`.
struct BinaryCall {
  std::string op;  ///< Add, Sub, Mul, Div, Max or Min
  Clamp clamp;
  std::vector<std::size_t> a_shape = {};
  std::vector<std::size_t> b_shape = {};
  BufferId a{};
  BufferId b{};
  BufferId into{};
  NodeId node = kNoNode;
};
[[nodiscard]] bool AddBinary(Lowering& lowering, const BinaryCall& call);

// One function a kind of operator. False where the library cannot do the node.
[[nodiscard]] bool LowerConv(Lowering& lowering, NodeId id);        // layer.cc
[[nodiscard]] bool LowerGemm(Lowering& lowering, NodeId id);        // layer.cc
[[nodiscard]] bool LowerPool(Lowering& lowering, NodeId id);        // pool.cc
[[nodiscard]] bool LowerActivation(Lowering& lowering, NodeId id);  // elementwise.cc
[[nodiscard]] bool LowerBinary(Lowering& lowering, NodeId id);      // elementwise.cc
[[nodiscard]] bool LowerConcat(Lowering& lowering, NodeId id);      // elementwise.cc
[[nodiscard]] bool LowerSoftmax(Lowering& lowering, NodeId id);     // elementwise.cc

}  // namespace msc::xnnpack
