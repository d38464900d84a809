#include <algorithm>
#include <array>
#include <utility>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

namespace msc::detail {
namespace {

/// Converts Squeeze-1, Unsqueeze-1 and ReduceSum-1, whose axes are an attribute.
void LiftAxes(Lift& lift) {
  lift.ListToInput("axes", 1);
}

/// Converts Split-2, whose sizes are an attribute.
void LiftSplit(Lift& lift) {
  lift.ListToInput("split", 1);
}

/// Converts Slice-1, whose parameters are attributes; absent axes mean 0, 1, ...
void LiftSlice(Lift& lift) {
  if (!lift.node.attrs.contains("starts") || !lift.node.attrs.contains("ends")) {
    lift.Reject("needs attributes 'starts' and 'ends'");
  }
  lift.ListToInput("starts", 1);
  lift.ListToInput("ends", 2);
  lift.ListToInput("axes", 3);
}

/// Converts Pad-2, whose pads and value are attributes.
void LiftPad(Lift& lift) {
  if (!lift.node.attrs.contains("pads")) lift.Reject("needs attribute 'pads'");
  lift.ListToInput("pads", 1);
  const float value = lift.Take("value", 0.0F);
  if (value == 0.0F) return;
  lift.SetConstantInput(2, "value", lift.FloatOfInput(value));
}

/// Converts TopK-1, whose k is an attribute.
void LiftTopK(Lift& lift) {
  if (!lift.node.attrs.contains("k")) lift.Reject("needs attribute 'k'");
  const std::array<std::int64_t, 1> k = {lift.Take("k", std::int64_t{0})};
  lift.SetConstantInput(1, "k", Tensor::From<std::int64_t>(DType::kI64, {1}, k));
}

/// Makes an asymmetric Resize: Resize-10 and Upsample read pixel floor(i / scale), or interpolate
/// at i / scale.
void MakeAsymmetricResize(Lift& lift) {
  lift.node.op = "Resize";
  lift.node.attrs["coordinate_transformation_mode"] = std::string("asymmetric");
  if (AttrOr(Node{.name = lift.node.name, .attrs = lift.node.attrs}, "mode",
             std::string("nearest")) == "nearest") {
    lift.node.attrs["nearest_mode"] = std::string("floor");
  }
  lift.node.inputs.insert(lift.node.inputs.begin() + 1, std::string());
}

void CheckScalesGrow(const Lift& lift, std::span<const float> scales) {
  if (std::any_of(scales.begin(), scales.end(), [](float s) { return !(s >= 1.0F); })) {
    lift.Reject("shrinks its input, for which set 10 does not say which pixel is read");
  }
}

/// Converts Upsample, whose scales are an attribute in -7 and an input in -9.
void LiftUpsample(Lift& lift) {
  if (lift.node.attrs.contains("scales")) {
    const auto scales = lift.Take("scales", std::vector<float>{});
    lift.SetConstantInput(
        1, "scales",
        Tensor::From<float>(DType::kF32, {static_cast<std::int64_t>(scales.size())}, scales));
  }
  if (lift.node.inputs.size() != 2) lift.Reject("needs an input and scales");
  MakeAsymmetricResize(lift);
}

void LiftResize10(Lift& lift) {
  const TensorPtr scales = lift.InputConstant(1);
  if (lift.node.inputs.size() != 2 || scales == nullptr || scales->dtype() != DType::kF32) {
    lift.Reject("needs an input and constant scales");
  }
  CheckScalesGrow(lift, scales->Values<float>());
  MakeAsymmetricResize(lift);
}

/// Removes the empty tensors that Resize-11 uses for absent inputs; converts Resize-10.
void LiftResize(Lift& lift) {
  if (lift.opset < 11) return LiftResize10(lift);
  for (std::size_t i = 1; i < lift.node.inputs.size(); ++i) {
    const TensorPtr given = lift.InputConstant(i);
    if (given != nullptr && given->size() == 0) lift.node.inputs[i].clear();
  }
}

/// Makes the coordinates of RoiAlign-10 explicit: set 16 shifts them by half a pixel.
void LiftRoiAlign(Lift& lift) {
  lift.node.attrs["coordinate_transformation_mode"] = std::string("output_half_pixel");
}

/// Renames Scatter, as set 11 does.
void LiftScatter(Lift& lift) {
  lift.node.op = "ScatterElements";
}

/// Takes the batch axis off the values of Scan-8, where it is 1.
void LiftScan(Lift& lift) {
  if (lift.HasInput(0)) lift.Reject("lengths of sequences are not supported");
  if (!lift.node.inputs.empty()) lift.node.inputs.erase(lift.node.inputs.begin());
  Steps steps(lift);
  const std::string axes = steps.List({0}, "batch");
  for (std::size_t i = 0; i < lift.node.inputs.size(); ++i) {
    const auto shape = lift.InputType(i).shape;
    if (!shape || shape->empty() || shape->front() != Dim(1)) {
      lift.Reject("set 8 is read for a batch of 1, which must be known");
    }
    lift.node.inputs[i] = steps.Add("Squeeze", {lift.node.inputs[i], axes}, "one");
  }
  for (std::string& output : lift.node.outputs) {
    if (output.empty()) continue;
    const std::string whole = std::exchange(output, lift.NewValue("one"));
    lift.after.push_back({.position = lift.node.position,
                          .name = lift.node.name + ".output",
                          .op = "Unsqueeze",
                          .inputs = {output, axes},
                          .outputs = {whole}});
  }
  if (const auto it = lift.node.attrs.find("directions"); it != lift.node.attrs.end()) {
    lift.node.attrs["scan_input_directions"] = it->second;
    lift.node.attrs.erase("directions");
  }
}

constexpr std::array<LiftRule, 12> kRules = {{
    {"Pad", 11, LiftPad},
    {"ReduceSum", 13, LiftAxes},
    {"Resize", kNoEnd, LiftResize},
    {"RoiAlign", 16, LiftRoiAlign},
    {"Scan", 9, LiftScan},
    {"Scatter", 11, LiftScatter},
    {"Slice", 10, LiftSlice},
    {"Split", 13, LiftSplit},
    {"Squeeze", 13, LiftAxes},
    {"TopK", 10, LiftTopK},
    {"Unsqueeze", 13, LiftAxes},
    {"Upsample", 10, LiftUpsample},
}};

}  // namespace

std::span<const LiftRule> ShapeLifts() {
  return kRules;
}

}  // namespace msc::detail
