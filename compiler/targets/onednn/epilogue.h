#pragma once

// Of this folder only: brings dnnl.hpp (by desc.h).

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/targets/onednn/desc.h"
#include "compiler/targets/onednn/followers.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// What msc.Conv and msc.Gemm do with their sums: see ops/fused.h.
struct Epilogue {
  FusedAttrs attrs;
  Elem x = Elem::f32;
  Elem y = Elem::f32;
  std::vector<float> bias;     ///< empty for none
  std::vector<float> w_scale;  ///< one or one a channel; empty unless the weights are s8
  ValueId residual = kNoValue;
  std::optional<Elem> r;     ///< type of the residual, if there is one
  ValueId slope = kNoValue;  ///< of PRelu
  Followers followers;       ///< what may be done on the way out; none behind integers

  [[nodiscard]] bool has_residual() const { return r.has_value(); }
  [[nodiscard]] bool is_prelu() const { return attrs.activation.op == "PRelu"; }
};

/// Reads all of it from a node; none where it is of a kind that is not taken (scales that are not
/// constant, for one). A plain Conv or Gemm has the epilogue of its bias alone.
[[nodiscard]] std::optional<Epilogue> ReadEpilogue(const Lowering& lowering, NodeId id);

/// Where a residual is added.
enum class AddBy : std::uint8_t {
  kNone,    ///< there is none
  kSum,     ///< the primitive adds to what its destination holds
  kBinary,  ///< the primitive reads it as another operand
  kAfter,   ///< a step of its own
};

/// One way to do an epilogue. Tried in order of expected speed.
struct Way {
  AddBy add = AddBy::kNone;
  Elem dst = Elem::f32;  ///< what the primitive writes; another step converts where this is not y
  Elem sum = Elem::f32;  ///< what the destination holds beforehand, for kSum
  bool activate = true;  ///< whether the primitive applies the activation; else a step of its own
  bool follow = false;   ///< whether the primitive does the followers too
};
[[nodiscard]] std::vector<Way> WaysOf(const Epilogue& epilogue);

/// The attributes that make a primitive with `channels` output channels do `way`. `residual` is the
/// layout of the residual for kBinary.
[[nodiscard]] dnnl::primitive_attr AttrOf(const Epilogue& epilogue, const Way& way,
                                          const Desc& residual);
/// The bias in the unit of the sums: the library adds it before scaling.
[[nodiscard]] std::vector<float> BiasOf(const Epilogue& epilogue, std::size_t channels);

/// Appends act(v) * scale. For functions that commute with scaling `v` must come scaled already
/// (see CommutesWithScale). False for an unknown function and for PRelu.
[[nodiscard]] bool AppendActivation(const Activation& activation, float scale,
                                    dnnl::post_ops& post_ops);
[[nodiscard]] bool CommutesWithScale(const Activation& activation);

/// Attributes of a reorder that gives `scale * (q - from_zero) + to_zero`.
[[nodiscard]] dnnl::primitive_attr ScalingAttr(float scale, std::int64_t from_zero,
                                               std::int64_t to_zero);

/// Constants of a node input; none where it is not an f32 constant.
[[nodiscard]] std::optional<std::vector<float>> ConstantFloats(const Graph& graph, ValueId value);
/// The same for i64 and i32.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ConstantInts(const Graph& graph,
                                                                    ValueId value);

}  // namespace msc::onednn
