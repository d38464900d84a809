#include <array>

#include "compiler/import/onnx/lift.h"

namespace msc::detail {
namespace {

/// Returns a bound as a scalar of the node's input type. The old form supports only floats.
Tensor Bound(const Lift& lift, float value) {
  const DType dtype = lift.InputType(0).dtype;
  if (dtype == DType::kF64) {
    const std::array<double, 1> wide = {value};
    return Tensor::From<double>(dtype, {}, wide);
  }
  if (dtype != DType::kF32 && dtype != DType::kUndefined) {
    lift.Reject("bounds are read for f32 and f64, not for " + std::string(Name(dtype)));
  }
  const std::array<float, 1> one = {value};
  return Tensor::From<float>(DType::kF32, {}, one);
}

/// Converts Clip-6, whose bounds are attributes.
void LiftClip(Lift& lift) {
  if (lift.node.inputs.size() > 1) lift.Reject("has bounds as inputs, which came with set 11");
  if (lift.node.attrs.contains("min")) {
    lift.SetConstantInput(1, "min", Bound(lift, lift.Take("min", 0.0F)));
  }
  if (lift.node.attrs.contains("max")) {
    lift.SetConstantInput(2, "max", Bound(lift, lift.Take("max", 0.0F)));
  }
}

/// Converts Dropout to Identity, which it is in inference. Dropout-7 and -10 have a ratio
/// attribute, Dropout-12 has ratio and training_mode inputs.
void LiftDropout(Lift& lift) {
  if (lift.IsRead(1)) lift.Reject("the mask is used, which only training does");
  if (lift.HasInput(2)) {
    const TensorPtr training = lift.InputConstant(2);
    if (training == nullptr || training->dtype() != DType::kBool || training->size() != 1 ||
        training->Values<std::uint8_t>()[0] != 0) {
      lift.Reject("training_mode must be absent or a constant false");
    }
  }
  lift.node.op = "Identity";
  if (lift.node.inputs.empty() || lift.node.outputs.empty()) lift.Reject("has no input or output");
  lift.node.inputs.resize(1);
  lift.node.outputs.resize(1);
  lift.node.attrs.clear();
}

constexpr std::array<LiftRule, 2> kRules = {{
    {"Clip", 11, LiftClip},
    {"Dropout", kNoEnd, LiftDropout},
}};

}  // namespace

std::span<const LiftRule> ElementwiseLifts() {
  return kRules;
}

}  // namespace msc::detail
