#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

namespace msc::detail {
namespace {

constexpr std::array<std::string_view, 11> kBinaries = {
    "Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"};

/// Converts Add-6 and similar operators: with broadcast = 1 the axes of B match those of A from
/// `axis` on, by default the last ones. This equals numpy broadcasting after B gets trailing axes
/// of size 1.
void LiftBroadcast(Lift& lift) {
  const bool broadcasts = lift.Take("broadcast", std::int64_t{0}) != 0;
  const bool placed = lift.node.attrs.contains("axis");
  const std::int64_t axis = lift.Take("axis", std::int64_t{0});
  if (!broadcasts || !placed) return;
  const auto a = lift.InputType(0).shape;
  const auto b = lift.InputType(1).shape;
  if (!a || !b) lift.Reject("broadcasts along an axis, which needs inputs of known rank");
  const auto a_rank = static_cast<std::int64_t>(a->size());
  const auto b_rank = static_cast<std::int64_t>(b->size());
  const std::int64_t first = axis < 0 ? axis + a_rank : axis;
  if (first < 0 || first + b_rank > a_rank) lift.Reject("axis does not fit its inputs");
  if (first + b_rank == a_rank) return;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(a_rank - first - b_rank));
  std::iota(axes.begin(), axes.end(), b_rank);
  PendingNode unsqueeze;
  unsqueeze.position = lift.node.position;
  unsqueeze.name = lift.node.name + ".unsqueeze";
  unsqueeze.op = "Unsqueeze";
  std::string list = lift.graph.FreeValueName(lift.node.name + ".axes");
  lift.graph.AddConstant(list, Tensor::From<std::int64_t>(
                                   DType::kI64, {static_cast<std::int64_t>(axes.size())}, axes));
  unsqueeze.inputs = {lift.node.inputs[1], list};
  unsqueeze.outputs = {lift.NewValue("unsqueezed")};
  lift.node.inputs[1] = unsqueeze.outputs[0];
  lift.before = {std::move(unsqueeze)};
}

/// Converts PRelu-1 and -6, whose slopes are those of axis 1.
void LiftSlopes(Lift& lift) {
  const auto x = lift.InputType(0).shape;
  const auto slopes = lift.InputType(1).shape;
  if (!x || !slopes) lift.Reject("needs inputs of known rank");
  const bool by_channel =
      slopes->size() == 1 && !((*slopes)[0].known() && (*slopes)[0].size() == 1);
  if (!by_channel || x->size() <= 2) return;
  std::vector<std::int64_t> axes(x->size() - 2);
  std::iota(axes.begin(), axes.end(), 1);
  Steps steps(lift);
  lift.node.inputs[1] =
      steps.Add("Unsqueeze", {lift.node.inputs[1], steps.List(axes, "axes")}, "slopes");
}

/// Converts Cast-1, which names its type as TensorProto does.
void LiftCast(Lift& lift) {
  const std::string name = lift.Take("to", std::string());
  // In the order of their numbers in TensorProto, from 1 on.
  constexpr auto kTypes = std::to_array<std::string_view>(
      {"FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING", "BOOL", "FLOAT16",
       "DOUBLE", "UINT32", "UINT64"});
  const auto* const found = std::find(kTypes.begin(), kTypes.end(), name);
  if (found == kTypes.end()) lift.Reject("has no type '" + name + "' to cast to");
  lift.node.attrs["to"] = std::int64_t{found - kTypes.begin() + 1};
}

/// Returns the only number of a constant input.
std::int64_t NumberOf(const Lift& lift, std::size_t index, const std::string& what) {
  const TensorPtr tensor = lift.InputConstant(index);
  if (tensor == nullptr || tensor->size() != 1) lift.Reject(what + " must be a constant number");
  double number = -1;
  switch (tensor->dtype()) {
    case DType::kF32:
      number = static_cast<double>(tensor->Values<float>()[0]);
      break;
    case DType::kI64:
      return tensor->Values<std::int64_t>()[0];
    case DType::kI32:
      return tensor->Values<std::int32_t>()[0];
    default:
      break;
  }
  constexpr double kMost = 1 << 24;  // whole numbers of f32
  if (!(number >= 0 && number <= kMost && number == std::floor(number))) {
    lift.Reject(what + " must be a whole number");
  }
  return static_cast<std::int64_t>(number);
}

/// Converts Tile-1, which repeats its input along one axis.
void LiftTile(Lift& lift) {
  const auto shape = lift.InputType(0).shape;
  if (!shape) lift.Reject("needs an input of known rank");
  const std::int64_t tiles = NumberOf(lift, 1, "tiles");
  const std::int64_t axis = NumberOf(lift, 2, "axis");
  if (axis < 0 || axis >= std::ssize(*shape)) lift.Reject("axis does not fit its input");
  std::vector<std::int64_t> repeats(shape->size(), 1);
  repeats[static_cast<std::size_t>(axis)] = tiles;
  lift.node.inputs.resize(1);
  lift.SetConstantInput(1, "repeats",
                        Tensor::From<std::int64_t>(DType::kI64, {std::ssize(repeats)}, repeats));
}

/// Converts p of LpPool-1 and GlobalLpPool-1, which was a float.
void LiftPower(Lift& lift) {
  const float p = lift.Take("p", 2.0F);
  if (!(p >= 1 && p <= 1024 && p == std::floor(p))) lift.Reject("p must be a whole number");
  lift.node.attrs["p"] = static_cast<std::int64_t>(p);
}

/// Converts Upsample-1, which has one attribute for each scale.
void LiftUpsample(Lift& lift) {
  if (lift.node.attrs.contains("scales")) return;  // already the form of set 7
  const float height = lift.Take("height_scale", 1.0F);
  const float width = lift.Take("width_scale", 1.0F);
  lift.node.attrs["scales"] = std::vector<float>{1, 1, height, width};
  if (lift.Take("mode", std::string("nearest")) == "bilinear") {
    lift.node.attrs["mode"] = std::string("linear");
  }
}

}  // namespace

void LiftOldest(Lift& lift) {
  // A hint about inputs that may be overwritten; MSCGym does not use it.
  (void)lift.Take("consumed_inputs", std::vector<std::int64_t>{});
  const std::string_view op = lift.node.op;
  if (std::find(kBinaries.begin(), kBinaries.end(), op) != kBinaries.end()) {
    LiftBroadcast(lift);
  } else if (op == "Gemm") {
    (void)lift.Take("broadcast", std::int64_t{0});  // C broadcasts in set 17
  } else if (op == "BatchNormalization" || op == "Dropout") {
    (void)lift.Take("is_test", std::int64_t{1});  // import is for inference
  } else if (op == "LSTM") {
    (void)lift.Take("output_sequence", std::int64_t{0});  // whether Y exists; its readers show that
  } else if (op == "Reshape") {
    lift.ListToInput("shape", 1);
  } else if (op == "PRelu") {
    LiftSlopes(lift);
  } else if (op == "Concat") {
    if (lift.opset < 4 && !lift.node.attrs.contains("axis")) {
      lift.node.attrs["axis"] = std::int64_t{1};
    }
  } else if (op == "Cast") {
    if (lift.opset < 6) LiftCast(lift);
  } else if (op == "Tile") {
    if (lift.opset < 6) LiftTile(lift);
  } else if (op == "Pad") {
    // The name of pads in set 1.
    if (lift.node.attrs.contains("paddings")) {
      lift.node.attrs["pads"] = lift.Take("paddings", std::vector<std::int64_t>{});
    }
  } else if (op == "LpPool" || op == "GlobalLpPool") {
    if (lift.opset < 2) LiftPower(lift);
  } else if (op == "Upsample") {
    LiftUpsample(lift);
  }
}

}  // namespace msc::detail
