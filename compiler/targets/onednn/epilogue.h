#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/targets/onednn/desc.h"
#include "compiler/targets/onednn/followers.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// The operations that msc.Conv and msc.Gemm apply to their sums: see ops/fused.h.
struct Epilogue {
  FusedAttrs attrs = {};
  Elem x = Elem::f32;
  Elem y = Elem::f32;
  std::vector<float> bias = {};     ///< empty if there is none
  std::vector<float> w_scale = {};  ///< one, or one per channel; empty unless the weights are s8
  ValueId residual = kNoValue;
  std::optional<Elem> r = {};  ///< type of the residual, if there is one
  ValueId slope = kNoValue;    ///< slope of PRelu
  Followers followers = {};    ///< nodes that the primitive may compute too; none for integer x

  [[nodiscard]] bool has_residual() const { return r.has_value(); }
  [[nodiscard]] bool is_prelu() const { return attrs.activation.op == "PRelu"; }
};

/// Reads the epilogue of a node; nullopt if it is unsupported (scales that are not constant, for
/// example). The epilogue of a plain Conv or Gemm is its bias alone.
[[nodiscard]] std::optional<Epilogue> ReadEpilogue(const Lowering& lowering, NodeId id);

/// How a residual is added.
enum class AddBy : std::uint8_t {
  kNone,    ///< there is no residual
  kSum,     ///< the primitive adds its result to the contents of its destination
  kBinary,  ///< the primitive reads the residual as a second operand
  kAfter,   ///< by a separate step
};

/// One way to compute an epilogue.
struct Way {
  AddBy add = AddBy::kNone;
  Elem dst = Elem::f32;  ///< type that the primitive writes; converted later if it is not y
  Elem sum = Elem::f32;  ///< for kSum: type of the destination's contents before the primitive runs
  bool activate = true;  ///< whether the primitive applies the activation; else a later step does
  bool follow = false;   ///< whether the primitive also computes the followers
};
/// Returns the ways to compute an epilogue, in the order of expected speed.
[[nodiscard]] std::vector<Way> WaysOf(const Epilogue& epilogue);

/// Returns the attributes with which a primitive computes `way`. `residual` is the layout of the
/// residual for kBinary.
[[nodiscard]] dnnl::primitive_attr AttrOf(const Epilogue& epilogue, const Way& way,
                                          const Desc& residual);
/// Returns the bias in units of the sums, because the library adds the bias before it scales them.
[[nodiscard]] std::vector<float> BiasOf(const Epilogue& epilogue, std::size_t channels);

/// Appends activation(v) * scale. For activations that commute with scaling, v must already be
/// scaled (see CommutesWithScale). Returns false for an unknown activation and for PRelu.
[[nodiscard]] bool AppendActivation(const Activation& activation, float scale,
                                    dnnl::post_ops& post_ops);
[[nodiscard]] bool CommutesWithScale(const Activation& activation);

/// Returns attributes of a reorder that computes `scale * (q - from_zero) + to_zero`.
[[nodiscard]] dnnl::primitive_attr ScalingAttr(float scale, std::int64_t from_zero,
                                               std::int64_t to_zero);

/// Returns the values of an f32 constant; nullopt for other values.
[[nodiscard]] std::optional<std::vector<float>> ConstantFloats(const Graph& graph, ValueId value);
/// Returns the values of an i64 or i32 constant; nullopt for other values.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ConstantInts(const Graph& graph,
                                                                    ValueId value);

}  // namespace msc::onednn
