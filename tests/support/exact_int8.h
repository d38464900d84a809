#pragma once

#include <string>

#include "compiler/codegen/cpp/isa.h"

namespace msc {

/// Returns whether a target multiplies 8-bit integers exactly on this CPU. ONNX Runtime adds pairs
/// of products in 16 bits on CPUs without VNNI; they saturate for large weights. All other targets
/// are exact, or reject such layers.
inline bool IsExactInInt8(const std::string& target) {
  return !target.starts_with("onnxruntime") || DetectIsa().vnni;
}

}  // namespace msc
