#pragma once

#include <memory>

#include "compiler/targets/target.h"

namespace msc {

/// The target "onednn": oneDNN's CPU primitives in f32, bf16 and int8, with bias, residual and
/// activation fused into convolutions and inner products. Layouts are those the primitives ask for
/// and are kept from one to the next; constant weights are packed while compiling.
///
/// int8 needs a CPU with VNNI or AMX: elsewhere oneDNN halves s8 weights to avoid overflow, which
/// is not what the operators of ops/fused.h mean, so such nodes are refused. An executable runs
/// with the thread count it was compiled for, whatever the caller's is.
[[nodiscard]] std::unique_ptr<Target> MakeOneDnnTarget();

}  // namespace msc
