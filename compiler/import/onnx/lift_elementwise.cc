#include <array>
#include <memory>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

namespace msc::detail {
namespace {

/// Converts Clip-6, whose bounds are attributes.
void LiftClip(Lift& lift) {
  if (lift.node.inputs.size() > 1) lift.Reject("has bounds as inputs, which came with set 11");
  if (lift.node.attrs.contains("min")) {
    lift.SetConstantInput(1, "min", lift.FloatOfInput(lift.Take("min", 0.0F)));
  }
  if (lift.node.attrs.contains("max")) {
    lift.SetConstantInput(2, "max", lift.FloatOfInput(lift.Take("max", 0.0F)));
  }
}

/// Returns whether a Dropout passes all of its input on: in inference, or if it drops nothing.
/// Dropout-7 and -10 have a ratio attribute, Dropout-12 has ratio and training_mode inputs.
bool DropsNothing(const Lift& lift) {
  if (!lift.HasInput(2)) return true;
  const TensorPtr training = lift.InputConstant(2);
  const bool one =
      training != nullptr && training->dtype() == DType::kBool && training->size() == 1;
  if (one && training->Values<std::uint8_t>()[0] == 0) return true;
  const TensorPtr ratio = lift.InputConstant(1);
  return ratio != nullptr && ratio->dtype() == DType::kF32 && ratio->size() == 1 &&
         ratio->Values<float>()[0] == 0.0F;
}

/// Returns whether only a run tells if a Dropout passes all of its input on.
bool IsOpen(const Lift& lift) {
  const bool open_ratio = lift.HasInput(1) && lift.InputConstant(1) == nullptr;
  return lift.InputConstant(2) == nullptr || open_ratio;
}

/// Converts Dropout to Identity, which it is in inference, and its mask to a tensor of true. Keeps
/// one of which a run tells whether it drops nothing.
void LiftDropout(Lift& lift) {
  if (!DropsNothing(lift)) {
    if (IsOpen(lift)) return;
    lift.Reject("training_mode must be absent or a constant false, or the ratio a constant 0");
  }
  if (lift.node.inputs.empty() || lift.node.outputs.empty()) lift.Reject("has no input or output");
  const std::string x = lift.node.inputs[0];
  Steps steps(lift);
  if (lift.IsRead(1)) {
    if (lift.opset < 10) lift.Reject("its mask before set 10 is not supported");
    const std::array<std::uint8_t, 1> kept = {1};
    const auto value =
        std::make_shared<const Tensor>(Tensor::From<std::uint8_t>(DType::kBool, {1}, kept));
    steps.EndOutput(lift.node.outputs[1], "ConstantOfShape", {steps.Add("Shape", {x}, "shape")},
                    "mask", {{"value", TensorPtr(value)}});
  }
  steps.End("Identity", {x});
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
