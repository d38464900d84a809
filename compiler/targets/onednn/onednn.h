#pragma once

#include <memory>

#include "compiler/targets/target.h"

namespace msc {

/// Makes the target "onednn": oneDNN's CPU primitives in f32, bf16 and int8, with bias, residual
/// and activation fused into convolutions and inner products. Values keep the layout that a
/// primitive asks for from one primitive to the next; constant weights are packed at compile time.
///
/// int8 needs a CPU with VNNI or AMX. On other CPUs oneDNN halves s8 weights to avoid overflow,
/// which contradicts the operators of ops/fused.h, so the target rejects int8 layers there. An
/// executable runs with the thread count that it was compiled for, whatever the thread count of its
/// caller.
[[nodiscard]] std::unique_ptr<Target> MakeOneDnnTarget();

}  // namespace msc
