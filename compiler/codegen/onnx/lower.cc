#include "compiler/codegen/onnx/lower.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/ops/lstm.h"
#include "compiler/ops/narrow.h"

namespace msc::detail {
namespace {

TensorPtr ConstantInput(const OutNode& node, std::size_t index) {
  if (index >= node.inputs.size() || node.inputs[index].empty()) return nullptr;
  TensorPtr tensor = node.graph.constant(node.node().inputs[index]);
  if (tensor == nullptr) {
    node.Reject("input " + std::to_string(index) + " must be a constant before it can be written");
  }
  return tensor;
}

/// Moves the constant integer vector of input `index`, if present, to an attribute.
void ListToAttr(OutNode& node, std::size_t index, const std::string& attr) {
  const TensorPtr tensor = ConstantInput(node, index);
  if (tensor == nullptr) return;
  std::vector<std::int64_t> list;
  if (tensor->dtype() == DType::kI32) {
    const auto values = tensor->Values<std::int32_t>();
    list.assign(values.begin(), values.end());
  } else {
    const auto values = tensor->Values<std::int64_t>();
    list.assign(values.begin(), values.end());
  }
  node.attrs[attr] = std::move(list);
}

/// Moves the constant scalar of input `index`, if present, to a float attribute.
void ScalarToAttr(OutNode& node, std::size_t index, const std::string& attr) {
  const TensorPtr tensor = ConstantInput(node, index);
  if (tensor == nullptr) return;
  if (tensor->dtype() != DType::kF32 || tensor->size() != 1) {
    node.Reject("'" + attr + "' must be one f32 number");
  }
  node.attrs[attr] = tensor->Values<float>()[0];
}

void KeepInputs(OutNode& node, std::size_t count) {
  if (node.inputs.size() > count) node.inputs.resize(count);
}

void LowerAxes(OutNode& node) {
  ListToAttr(node, 1, "axes");
  KeepInputs(node, 1);
}

/// Rejects reductions of Scatter that set 18 added.
void RejectExtremes(OutNode& node) {
  const std::string reduction = AttrOr(node.node(), "reduction", std::string("none"));
  if (reduction == "max" || reduction == "min") {
    node.Reject("reduction '" + reduction + "' has no older form");
  }
}

/// Writes constant axes of ReduceMax and its like as set 17 has them.
void LowerReduce(OutNode& node) {
  const bool noop = AttrOr(node.node(), "noop_with_empty_axes", std::int64_t{0}) != 0;
  const bool given = node.node().HasInput(1) || node.node().attrs.contains("axes");
  if (noop && !given) node.Reject("a reduction of no axes has no older form");
  LowerAxes(node);
  node.attrs.erase("noop_with_empty_axes");
}

void LowerClip(OutNode& node) {
  if (node.graph.type(node.node().inputs[0]).dtype != DType::kF32) {
    node.Reject("only an f32 Clip has the older form");
  }
  ScalarToAttr(node, 1, "min");
  ScalarToAttr(node, 2, "max");
  KeepInputs(node, 1);
}

void LowerDropout(OutNode& node) {
  const TensorPtr training = ConstantInput(node, 2);
  if (training != nullptr && training->Values<std::uint8_t>()[0] != 0) {
    node.Reject("training mode has no older form");
  }
  ScalarToAttr(node, 1, "ratio");
  node.attrs.erase("seed");
  KeepInputs(node, 1);
}

void LowerPad(OutNode& node) {
  ListToAttr(node, 1, "pads");
  ScalarToAttr(node, 2, "value");
  KeepInputs(node, 1);
}

void LowerSlice(OutNode& node) {
  const TensorPtr steps = ConstantInput(node, 4);
  if (steps != nullptr) {
    OutNode copy = node;
    ListToAttr(copy, 4, "steps");
    const auto& list = std::get<std::vector<std::int64_t>>(copy.attrs["steps"]);
    if (std::any_of(list.begin(), list.end(), [](std::int64_t s) { return s != 1; })) {
      node.Reject("steps other than 1 have no older form");
    }
  }
  ListToAttr(node, 1, "starts");
  ListToAttr(node, 2, "ends");
  ListToAttr(node, 3, "axes");
  KeepInputs(node, 1);
}

/// Makes axes non-negative, as set 10 requires.
void LowerSliceAxes(OutNode& node) {
  if (node.opset != 10 || node.inputs.size() < 4) return;
  const TensorPtr axes = node.graph.constant(node.node().inputs[3]);
  if (axes == nullptr || axes->dtype() != DType::kI64) return;
  const auto given = axes->Values<std::int64_t>();
  std::vector<std::int64_t> list(given.begin(), given.end());
  if (std::none_of(list.begin(), list.end(), [](std::int64_t axis) { return axis < 0; })) return;
  const auto& shape = node.graph.type(node.node().inputs[0]).shape;
  if (!shape) node.Reject("a negative axis needs an input of known rank");
  for (std::int64_t& axis : list) axis += axis < 0 ? static_cast<std::int64_t>(shape->size()) : 0;
  node.inputs[3] =
      node.AddConstant("axes", Tensor::From<std::int64_t>(DType::kI64, axes->dims(), list));
}

/// Sets the axis of Softmax and similar operators, which before set 13 normalize over all axes from
/// `axis` on; this is equal for the last axis.
void LowerSoftmax(OutNode& node) {
  const auto& shape = node.graph.type(node.node().inputs[0]).shape;
  if (!shape) node.Reject("the rank of its input must be known");
  const auto rank = static_cast<std::int64_t>(shape->size());
  const std::int64_t axis = AttrOr(node.node(), "axis", std::int64_t{-1});
  if (axis != -1 && axis != rank - 1) node.Reject("an axis other than the last has no older form");
  node.attrs["axis"] = rank - 1;
}

void LowerSplit(OutNode& node) {
  ListToAttr(node, 1, "split");
  KeepInputs(node, 1);
}

void LowerTopK(OutNode& node) {
  ListToAttr(node, 1, "k");
  const auto list = std::get<std::vector<std::int64_t>>(node.attrs["k"]);
  if (list.size() != 1) node.Reject("k must be one number");
  node.attrs["k"] = list[0];
  KeepInputs(node, 1);
}

/// Writes hidden_size, which is optional in ONNX but required by runtimes.
void WriteHiddenSize(OutNode& node) {
  const auto& shape = node.graph.type(node.node().inputs[kLstmR]).shape;
  if (shape && shape->size() == 3 && shape->back().known()) {
    node.attrs["hidden_size"] = shape->back().size();
  }
}

/// Writes onesided of STFT, whose default libonnx takes for 0 where it infers the shape.
void WriteOnesided(OutNode& node) {
  node.attrs.emplace("onesided", std::int64_t{1});
}

/// Replaces absent roi and scales by empty tensors, as sets 11 and 12 require.
void LowerResize(OutNode& node) {
  if (node.opset < 11) return;
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3));
  if (node.inputs[1].empty()) node.inputs[1] = node.AddConstant("roi", Tensor(DType::kF32, {0}));
  if (node.inputs[2].empty()) {
    node.inputs[2] = node.AddConstant("scales", Tensor(DType::kF32, {0}));
  }
}

/// Adds input C, which is required before set 11.
void LowerGemm(OutNode& node) {
  node.inputs.resize(3);
  if (!node.inputs[2].empty()) return;
  const DType dtype = node.graph.type(node.node().inputs[0]).dtype;
  if (dtype == DType::kUndefined) node.Reject("the type of its inputs must be known");
  node.inputs[2] = node.AddConstant("zero", Tensor(dtype, {1}));
}

/// Makes the scale a scalar: before set 13 a tensor has a single one.
void LowerQuantize(OutNode& node) {
  if (AttrOr(node.node(), "axis", std::int64_t{1}) != 1) return;  // CheckSchema rejects it
  const auto& shape = node.graph.type(node.node().inputs[1]).shape;
  if (!shape || shape->empty()) return;
  if (shape->size() != 1 || !shape->front().known() || shape->front().size() != 1) {
    node.Reject("a scale for every channel came with set 13");
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (const TensorPtr list = ConstantInput(node, i)) {
      node.inputs[i] = node.AddConstant(i == 1 ? "scale" : "zero_point", list->Reshaped({}));
    }
  }
  node.attrs.erase("axis");
}

/// Returns whether all inputs have the same known shape, so that none is broadcast.
bool HasOneShape(const OutNode& node) {
  const auto& first = node.graph.type(node.node().inputs[0]).shape;
  if (node.inputs.size() == 1) return true;
  if (!first) return false;
  const bool known = std::all_of(first->begin(), first->end(), [](const Dim& dim) {
    return dim.known() || !dim.symbol().empty();
  });
  return known && std::all_of(node.node().inputs.begin(), node.node().inputs.end(),
                              [&](ValueId id) { return node.graph.type(id).shape == first; });
}

/// Replaces a Sum or Mean that broadcasts by Add nodes, because Sum and Mean do not broadcast
/// before set 8.
void LowerSum(OutNode& node) {
  if (HasOneShape(node)) return;
  const bool mean = node.op == "Mean";
  const std::size_t steps = node.inputs.size() - (mean ? 1 : 2);
  std::string sum = node.inputs[0];
  for (std::size_t i = 0; i < steps; ++i) {
    const std::string stem = node.node().name + ".sum" + std::to_string(i);
    node.before.push_back({.name = node.graph.FreeNodeName(stem),
                           .op = "Add",
                           .inputs = {sum, node.inputs[i + 1]},
                           .output = node.graph.FreeValueName(stem)});
    sum = node.before.back().output;
  }
  if (!mean) {
    node.op = "Add";
    node.inputs = {sum, node.inputs.back()};
    return;
  }
  const DType dtype = node.graph.type(node.node().inputs[0]).dtype;
  const auto count = static_cast<float>(node.inputs.size());
  Tensor divisor(dtype, {});
  if (dtype == DType::kF32) {
    divisor.MutableValues<float>()[0] = count;
  } else if (dtype == DType::kF64) {
    divisor.MutableValues<double>()[0] = count;
  } else {
    node.Reject("inputs of several shapes came with set 8; this is written for f32 and f64");
  }
  node.op = "Div";
  node.inputs = {sum, node.AddConstant("count", std::move(divisor))};
}

void RejectStretching(OutNode& node) {
  if (!HasOneShape(node)) node.Reject("inputs of several shapes came with set 8");
}

void RejectWrap(OutNode& node) {
  if (AttrOr(node.node(), "mode", std::string()) == "wrap")
    node.Reject("mode wrap has no older form");
}

void RejectFloorMod(OutNode& node) {
  const bool floats = IsFloat(node.graph.type(node.node().inputs[0]).dtype);
  if (floats && AttrOr(node.node(), "fmod", std::int64_t{0}) == 0) {
    node.Reject("the remainder of floats that has the sign of the divisor came with set 28");
  }
}

void RejectSymmetric(OutNode& node) {
  if (AttrOr(node.node(), "coordinate_transformation_mode", std::string()) ==
      "half_pixel_symmetric") {
    node.Reject("half_pixel_symmetric has no older form");
  }
}

/// Makes the axis of DFT an attribute, as it is before set 20.
void LowerDft(OutNode& node) {
  if (const TensorPtr axis = ConstantInput(node, 2)) {
    if (axis->dtype() != DType::kI64 || axis->size() != 1) node.Reject("its axis must be one i64");
    node.attrs["axis"] = axis->Values<std::int64_t>()[0];
  }
  KeepInputs(node, 2);
  if (node.inputs.back().empty()) node.inputs.pop_back();
}

void RejectVolumes(OutNode& node) {
  const auto& shape = node.graph.type(node.node().inputs[0]).shape;
  if (!shape || shape->size() != 4) node.Reject("only images have an older form");
}

/// Removes the coordinates of RoiAlign-16 that are those of RoiAlign-10.
void LowerRoiAlign(OutNode& node) {
  const auto place =
      AttrOr(node.node(), "coordinate_transformation_mode", std::string("half_pixel"));
  if (place != "output_half_pixel") node.Reject("half_pixel has no older form");
  node.attrs.erase("coordinate_transformation_mode");
}

void RejectBatches(OutNode& node) {
  node.Reject("before set 9 it has a batch of sequences");
}

/// Writes a Cast to the narrow type and, unless every reader is a Cast, one back to the type that
/// holds it in graphs.
void WriteNarrowCast(OutNode& node) {
  const NarrowType* type = FindNarrowType(AttrOr(node.node(), "to", std::string()));
  if (type == nullptr) node.Reject("attribute 'to' names no narrow type");
  if (node.opset < type->since) {
    node.Reject("the type " + std::string(type->name) + " does not exist there");
  }
  AttrMap attrs = {{"to", type->code}};
  if (type->held == DType::kF32) {
    attrs["saturate"] = AttrOr(node.node(), "saturate", std::int64_t{1});
  }
  if (type->kind == NarrowKind::kPowerOfTwo) {
    attrs["round_mode"] = AttrOr(node.node(), "round_mode", std::string("up"));
  }
  node.op = "Cast";
  const ValueId made = node.node().outputs[0];
  const std::vector<Use>& uses = node.graph.uses(made);
  const bool only_casts = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return node.graph.node(use.node).Is("Cast");
  });
  if (node.narrow_result || (only_casts && !uses.empty() && !node.graph.IsOutput(made))) {
    node.attrs = std::move(attrs);
    return;
  }
  const std::string stem = node.node().name + ".narrow";
  node.before.push_back({.name = node.graph.FreeNodeName(stem),
                         .op = "Cast",
                         .inputs = node.inputs,
                         .output = node.graph.FreeValueName(stem),
                         .attrs = std::move(attrs)});
  node.inputs = {node.before.back().output};
  node.attrs = {{"to", static_cast<std::int64_t>(type->held)}};
}

struct LowerRule {
  std::string_view op;
  std::int64_t below;
  void (*apply)(OutNode&);
};

constexpr std::int64_t kEverySet = 1000;
constexpr std::array<LowerRule, 44> kRules = {{
    {"CastNarrow", kEverySet, WriteNarrowCast},
    {"Clip", 11, LowerClip},
    {"DFT", 20, LowerDft},
    {"DequantizeLinear", 13, LowerQuantize},
    {"Dropout", 12, LowerDropout},
    {"GRU", kEverySet, WriteHiddenSize},
    {"Gemm", 11, LowerGemm},
    {"GridSample", 20, RejectVolumes},
    {"Hardmax", 13, LowerSoftmax},
    {"LSTM", kEverySet, WriteHiddenSize},
    {"LogSoftmax", 13, LowerSoftmax},
    {"Max", 8, RejectStretching},
    {"Mean", 8, LowerSum},
    {"Min", 8, RejectStretching},
    {"Mod", 28, RejectFloorMod},
    {"Pad", 19, RejectWrap},
    {"Pad", 11, LowerPad},
    {"QuantizeLinear", 13, LowerQuantize},
    {"RNN", kEverySet, WriteHiddenSize},
    {"ReduceL1", 18, LowerReduce},
    {"ReduceL2", 18, LowerReduce},
    {"ReduceLogSum", 18, LowerReduce},
    {"ReduceLogSumExp", 18, LowerReduce},
    {"ReduceMax", 18, LowerReduce},
    {"ReduceMean", 18, LowerReduce},
    {"ReduceMin", 18, LowerReduce},
    {"ReduceProd", 18, LowerReduce},
    {"ReduceSum", 13, LowerAxes},
    {"ReduceSumSquare", 18, LowerReduce},
    {"Resize", 19, RejectSymmetric},
    {"Resize", 13, LowerResize},
    {"RoiAlign", 16, LowerRoiAlign},
    {"STFT", kEverySet, WriteOnesided},
    {"Scan", 9, RejectBatches},
    {"ScatterElements", 18, RejectExtremes},
    {"ScatterND", 18, RejectExtremes},
    {"Slice", 10, LowerSlice},
    {"Slice", 11, LowerSliceAxes},
    {"Softmax", 13, LowerSoftmax},
    {"Split", 13, LowerSplit},
    {"Squeeze", 13, LowerAxes},
    {"Sum", 8, LowerSum},
    {"TopK", 10, LowerTopK},
    {"Unsqueeze", 13, LowerAxes},
}};

/// Makes axes non-negative: negative ones exist since set 11.
void CountAxesFromFront(OutNode& node) {
  // The axes of Unsqueeze refer to its output, as does the axis of OneHot.
  const bool of_output = node.node().op == "Unsqueeze" || node.node().op == "OneHot";
  const ValueId counted = of_output ? node.node().outputs[0] : node.node().inputs[0];
  const auto lift = [&](std::int64_t& axis) {
    if (axis >= 0) return;
    const auto& shape = node.graph.type(counted).shape;
    if (!shape) node.Reject("a negative axis needs an input of known rank");
    axis += static_cast<std::int64_t>(shape->size());
  };
  for (auto& [name, attr] : node.attrs) {
    if (name == "axis") {
      if (auto* axis = std::get_if<std::int64_t>(&attr)) lift(*axis);
    } else if (name == "axes") {
      if (auto* axes = std::get_if<std::vector<std::int64_t>>(&attr)) {
        for (std::int64_t& axis : *axes) lift(axis);
      }
    }
  }
}

}  // namespace

void OutNode::Reject(const std::string& why) const {
  throw SetCannotExpress("node '" + node().name + "' (" + node().op +
                         ") cannot be exported at operator set " + std::to_string(opset) + ": " +
                         why);
}

std::string OutNode::AddConstant(const std::string& what, Tensor tensor) {
  std::string name = graph.FreeValueName(node().name + "." + what);
  constants.emplace_back(name, std::move(tensor));
  return name;
}

OutNode MakeOutNode(const Graph& graph, NodeId id, std::int64_t opset) {
  const Node& node = graph.node(id);
  OutNode out{.graph = graph, .id = id, .opset = opset, .op = node.op, .attrs = node.attrs};
  for (const ValueId input : node.inputs) {
    out.inputs.push_back(input == kNoValue ? "" : graph.value(input).name);
  }
  for (const ValueId output : node.outputs) {
    out.outputs.push_back(output == kNoValue ? "" : graph.value(output).name);
  }
  return out;
}

void LowerNode(OutNode& node) {
  for (const LowerRule& rule : kRules) {
    if (rule.op == node.node().op && node.opset < rule.below) rule.apply(node);
  }
  if (node.opset < 11 && !node.node().inputs.empty()) CountAxesFromFront(node);
}

}  // namespace msc::detail
