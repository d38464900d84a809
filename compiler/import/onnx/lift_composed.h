#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "compiler/base/dtype.h"
#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"
#include "compiler/ir/graph.h"

// Compositions that operators of several names and domains share.

namespace msc::detail {

enum class GeluForm { kExact, kTanh };

/// Adds GELU of `x`, as FuseOps recognises it, except for its last step: returns the two factors
/// whose product it is.
[[nodiscard]] std::array<std::string, 2> GeluFactors(Steps& steps, const std::string& x,
                                                     DType dtype, GeluForm form);

/// Returns sigmoid(alpha * x), the factor by which Swish multiplies x.
[[nodiscard]] std::string SwishGate(Steps& steps, const std::string& x, DType dtype, float alpha);
/// Makes the node x * sigmoid(alpha * x).
void EndSwish(Steps& steps, const std::string& x, DType dtype, float alpha);

/// x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on.
struct RmsNormalization {
  std::string x;
  ValueType type;  ///< of x
  std::string scale;
  std::int64_t axis = -1;
  float epsilon = 1e-5F;
  bool in_f32 = true;        ///< narrower floats are widened for the mean
  std::string inverse = {};  ///< name of an output of 1 / sqrt(...); empty if there is none
};
/// Makes the node `norm`. Rejects an axis that x lacks.
void EndRmsNormalization(Lift& lift, const RmsNormalization& norm);

}  // namespace msc::detail
