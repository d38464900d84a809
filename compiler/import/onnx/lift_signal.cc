#include <array>
#include <cstdint>

#include "compiler/import/onnx/lift.h"

// Operators of signal processing of sets 18 to 27.

namespace msc::detail {
namespace {

/// Makes the axis of DFT-20, an input, the attribute of DFT-17, whose default is another. An axis
/// that is not constant stays an input.
void LiftDft(Lift& lift) {
  if (lift.node.attrs.contains("axis")) lift.Reject("has no attribute 'axis'");
  std::int64_t axis = -2;
  if (lift.HasInput(2)) {
    const TensorPtr given = lift.InputConstant(2);
    if (given == nullptr) return;
    if (given->dtype() != DType::kI64 || given->size() != 1) {
      lift.Reject("the axis must be one number of i64");
    }
    axis = given->Values<std::int64_t>()[0];
    lift.node.inputs.resize(2);
    if (lift.node.inputs.back().empty()) lift.node.inputs.pop_back();
  }
  lift.node.attrs["axis"] = axis;
}

constexpr std::array<LiftRule, 1> kRules = {{
    {"DFT", kNoEnd, LiftDft, 20},
}};

}  // namespace

std::span<const LiftRule> SignalLifts() {
  return kRules;
}

}  // namespace msc::detail
