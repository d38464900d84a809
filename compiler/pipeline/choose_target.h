#pragma once

#include <string>

#include "compiler/targets/target.h"

namespace msc {

/// Stands for the target that ChooseTarget returns, wherever users name a target.
inline constexpr const char* kAutoTarget = "auto";

/// Returns a target that computes 8-bit layers here: the first of onednn, native, onnxruntime and
/// xnnpack that compiles an int8 convolution to 8-bit kernels. If none does, the first of them that
/// compiles it at all; "reference" if there is none. Which kernels a library has depends on the
/// CPU, and `native` needs a C++ compiler, so each is asked by compiling: at most seconds, and for
/// `native` only once, as it keeps compiled kernels.
[[nodiscard]] std::string ChooseTarget(const TargetRegistry& registry);

}  // namespace msc
