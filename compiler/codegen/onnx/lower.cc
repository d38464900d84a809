#include "compiler/codegen/onnx/lower.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/ops/lstm.h"

namespace msc::detail {
namespace {

TensorPtr ConstantInput(const OutNode& node, std::size_t index) {
  if (index >= node.inputs.size() || node.inputs[index].empty()) return nullptr;
  TensorPtr tensor = node.graph.constant(node.node().inputs[index]);
  if (tensor == nullptr) {
    node.Refuse("input " + std::to_string(index) + " must be a constant before it can be written");
  }
  return tensor;
}

/// Moves the constant i64 vector of input `index`, if given, to an attribute.
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

/// Moves the constant scalar of input `index`, if given, to a float attribute.
void ScalarToAttr(OutNode& node, std::size_t index, const std::string& attr) {
  const TensorPtr tensor = ConstantInput(node, index);
  if (tensor == nullptr) return;
  if (tensor->dtype() != DType::kF32 || tensor->size() != 1) {
    node.Refuse("'" + attr + "' must be one f32 number");
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

void LowerClip(OutNode& node) {
  if (node.graph.type(node.node().inputs[0]).dtype != DType::kF32) {
    node.Refuse("only an f32 Clip has the older form");
  }
  ScalarToAttr(node, 1, "min");
  ScalarToAttr(node, 2, "max");
  KeepInputs(node, 1);
}

void LowerDropout(OutNode& node) {
  const TensorPtr training = ConstantInput(node, 2);
  if (training != nullptr && training->Values<std::uint8_t>()[0] != 0) {
    node.Refuse("training mode has no older form");
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
      node.Refuse("steps other than 1 have no older form");
    }
  }
  ListToAttr(node, 1, "starts");
  ListToAttr(node, 2, "ends");
  ListToAttr(node, 3, "axes");
  KeepInputs(node, 1);
}

/// Before set 13 these normalized over all axes from `axis` on: the same thing for the last one.
void LowerSoftmax(OutNode& node) {
  const auto& shape = node.graph.type(node.node().inputs[0]).shape;
  if (!shape) node.Refuse("the rank of its input must be known");
  const auto rank = static_cast<std::int64_t>(shape->size());
  const std::int64_t axis = AttrOr(node.node(), "axis", std::int64_t{-1});
  if (axis != -1 && axis != rank - 1) node.Refuse("an axis other than the last has no older form");
  node.attrs["axis"] = rank - 1;
}

void LowerSplit(OutNode& node) {
  ListToAttr(node, 1, "split");
  KeepInputs(node, 1);
}

void LowerTopK(OutNode& node) {
  ListToAttr(node, 1, "k");
  const auto list = std::get<std::vector<std::int64_t>>(node.attrs["k"]);
  if (list.size() != 1) node.Refuse("k must be one number");
  node.attrs["k"] = list[0];
  KeepInputs(node, 1);
}

/// Optional by the operator's page, yet runtimes ask for it.
void WriteHiddenSize(OutNode& node) {
  const auto& shape = node.graph.type(node.node().inputs[kLstmR]).shape;
  if (shape && shape->size() == 3 && shape->back().known()) {
    node.attrs["hidden_size"] = shape->back().size();
  }
}

struct LowerRule {
  std::string_view op;
  std::int64_t below;
  void (*apply)(OutNode&);
};

constexpr std::int64_t kEverySet = 1000;
constexpr std::array<LowerRule, 13> kRules = {{
    {"Clip", 11, LowerClip},
    {"Dropout", 12, LowerDropout},
    {"Hardmax", 13, LowerSoftmax},
    {"LSTM", kEverySet, WriteHiddenSize},
    {"LogSoftmax", 13, LowerSoftmax},
    {"Pad", 11, LowerPad},
    {"ReduceSum", 13, LowerAxes},
    {"Slice", 10, LowerSlice},
    {"Softmax", 13, LowerSoftmax},
    {"Split", 13, LowerSplit},
    {"Squeeze", 13, LowerAxes},
    {"TopK", 10, LowerTopK},
    {"Unsqueeze", 13, LowerAxes},
}};

/// Axes counted from the end came with set 11.
void CountAxesFromFront(OutNode& node) {
  // Axes of Unsqueeze are those of its output.
  const ValueId counted =
      node.node().op == "Unsqueeze" ? node.node().outputs[0] : node.node().inputs[0];
  const auto lift = [&](std::int64_t& axis) {
    if (axis >= 0) return;
    const auto& shape = node.graph.type(counted).shape;
    if (!shape) node.Refuse("a negative axis needs an input of known rank");
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

void OutNode::Refuse(const std::string& why) const {
  throw UserError("node '" + node().name + "' (" + node().op +
                  ") cannot be exported at operator set " + std::to_string(opset) + ": " + why);
}

OutNode MakeOutNode(const Graph& graph, NodeId id, std::int64_t opset) {
  const Node& node = graph.node(id);
  OutNode out{
      .graph = graph, .id = id, .opset = opset, .inputs = {}, .outputs = {}, .attrs = node.attrs};
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
