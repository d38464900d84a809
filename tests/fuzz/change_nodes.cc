// Changes of attributes and operators.

#include <limits>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/ops/op.h"
#include "tests/fuzz/model_changes.h"

namespace msc::fuzz::detail {
namespace {

using onnx::AttributeProto;
using onnx::ModelProto;

/// A node with attributes.
onnx::NodeProto* NodeWithAttributes(ModelProto& model, Rng& rng) {
  std::vector<onnx::NodeProto*> nodes;
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (!node.attribute().empty()) nodes.push_back(&node);
  }
  return nodes.empty() ? nullptr : OneOf(nodes, rng);
}

AttributeProto* AnyAttribute(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithAttributes(model, rng);
  if (node == nullptr) return nullptr;
  return node->mutable_attribute(
      static_cast<int>(rng.Below(static_cast<std::uint64_t>(node->attribute_size()))));
}

float StrangeFloat(Rng& rng) {
  constexpr float kStrange[] = {0.0F,
                                -1.0F,
                                0.5F,
                                1e-30F,
                                3e38F,
                                -3e38F,
                                std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
  return OneOf(kStrange, rng);
}

bool AttributeValue(ModelProto& model, Rng& rng) {
  AttributeProto* attribute = AnyAttribute(model, rng);
  if (attribute == nullptr) return false;
  if (attribute->type() == AttributeProto::INT) {
    attribute->set_i(StrangeNumber(attribute->i(), rng));
  } else if (attribute->type() == AttributeProto::INTS && !attribute->ints().empty()) {
    auto& ints = *attribute->mutable_ints();
    auto& one = ints[static_cast<int>(rng.Below(static_cast<std::uint64_t>(ints.size())))];
    one = StrangeNumber(one, rng);
    if (Chance(rng, 4)) ints.SwapElements(0, ints.size() - 1);
  } else if (attribute->type() == AttributeProto::FLOAT) {
    attribute->set_f(StrangeFloat(rng));
  } else if (attribute->type() == AttributeProto::STRING) {
    constexpr const char* kWords[] = {"",       "SAME_UPPER", "SAME_LOWER", "VALID",
                                      "linear", "cubic",      "edge",       "reflect"};
    attribute->set_s(OneOf(kWords, rng));
  } else {
    return false;
  }
  return true;
}

/// A small change that may well be legal: what no author tried.
bool AttributeSmall(ModelProto& model, Rng& rng) {
  AttributeProto* attribute = AnyAttribute(model, rng);
  if (attribute == nullptr) return false;
  const auto small = [&] { return static_cast<std::int64_t>(rng.Below(6)) - 1; };
  if (attribute->type() == AttributeProto::INT) {
    attribute->set_i(small());
  } else if (attribute->type() == AttributeProto::INTS && !attribute->ints().empty()) {
    for (auto& one : *attribute->mutable_ints()) {
      if (Chance(rng, 2)) one = small();
    }
  } else {
    return false;
  }
  return true;
}

bool AttributeLength(ModelProto& model, Rng& rng) {
  for (int tries = 0; tries < 20; ++tries) {
    AttributeProto* attribute = AnyAttribute(model, rng);
    if (attribute == nullptr) return false;
    if (attribute->type() != AttributeProto::INTS) continue;
    auto& ints = *attribute->mutable_ints();
    if (Chance(rng, 4)) {
      ints.Clear();
    } else if (!ints.empty() && Chance(rng, 2)) {
      ints.RemoveLast();
    } else {
      ints.Add(static_cast<std::int64_t>(rng.Below(4)));
    }
    return true;
  }
  return false;
}

bool AttributeMissing(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithAttributes(model, rng);
  if (node == nullptr) return false;
  node->mutable_attribute()->DeleteSubrange(
      static_cast<int>(rng.Below(static_cast<std::uint64_t>(node->attribute_size()))), 1);
  return true;
}

void GiveStrangeValue(AttributeProto& attribute, Rng& rng) {
  const std::string name = attribute.name();
  attribute.Clear();
  attribute.set_name(name);
  switch (rng.Below(6)) {
    case 0:
      attribute.set_type(AttributeProto::INT);
      attribute.set_i(StrangeNumber(1, rng));
      break;
    case 1:
      attribute.set_type(AttributeProto::FLOAT);
      attribute.set_f(StrangeFloat(rng));
      break;
    case 2:
      attribute.set_type(AttributeProto::STRING);
      attribute.set_s("text");
      break;
    case 3:
      attribute.set_type(AttributeProto::TENSOR);
      attribute.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
      attribute.mutable_t()->add_dims(1);
      attribute.mutable_t()->add_float_data(StrangeFloat(rng));
      break;
    case 4:
      attribute.set_type(AttributeProto::FLOATS);
      attribute.add_floats(StrangeFloat(rng));
      break;
    default:
      attribute.set_type(AttributeProto::INTS);
      for (std::uint64_t i = rng.Below(5); i > 0; --i) attribute.add_ints(StrangeNumber(1, rng));
  }
}

bool AttributeType(ModelProto& model, Rng& rng) {
  AttributeProto* attribute = AnyAttribute(model, rng);
  if (attribute == nullptr) return false;
  if (Chance(rng, 4)) {
    attribute->set_type(static_cast<AttributeProto::AttributeType>(rng.Below(12)));
  } else {
    GiveStrangeValue(*attribute, rng);
  }
  return true;
}

/// One that the operator has and the node did not say, or one of another node.
bool AttributeForeign(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = AnyNode(model, rng);
  const AttributeProto* other = AnyAttribute(model, rng);
  if (node == nullptr || other == nullptr) return false;
  const OpDef* op = Ops().Find("", node->op_type());
  if (op == nullptr || op->attrs.empty() || Chance(rng, 3)) {
    const AttributeProto copy = *other;
    *node->add_attribute() = copy;
    return true;
  }
  const AttrSpec& spec = OneOf(op->attrs, rng);
  for (int i = 0; i < node->attribute_size(); ++i) {
    if (node->attribute(i).name() == spec.name) return false;
  }
  AttributeProto& attribute = *node->add_attribute();
  attribute.set_name(spec.name);
  if (std::holds_alternative<std::int64_t>(spec.otherwise)) {
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(Chance(rng, 2) ? static_cast<std::int64_t>(rng.Below(4))
                                   : StrangeNumber(1, rng));
  } else if (std::holds_alternative<std::vector<std::int64_t>>(spec.otherwise)) {
    attribute.set_type(AttributeProto::INTS);
    for (std::uint64_t i = rng.Below(6); i > 0; --i) {
      attribute.add_ints(Chance(rng, 3) ? StrangeNumber(1, rng)
                                        : static_cast<std::int64_t>(rng.Below(4)));
    }
  } else if (std::holds_alternative<float>(spec.otherwise)) {
    attribute.set_type(AttributeProto::FLOAT);
    attribute.set_f(StrangeFloat(rng));
  } else {
    GiveStrangeValue(attribute, rng);
  }
  return true;
}

std::string AnyOperator(Rng& rng) {
  static const std::vector<const OpDef*> kAll = Ops().All();
  for (;;) {
    const OpDef& op = *OneOf(kAll, rng);
    if (op.domain.empty()) return op.name;
  }
}

bool OperatorSwapped(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = AnyNode(model, rng);
  if (node == nullptr) return false;
  if (Chance(rng, 2)) node->clear_attribute();  // those of the old one are refused
  node->set_op_type(AnyOperator(rng));
  if (Chance(rng, 12)) node->set_domain("msc");
  return true;
}

/// Among operators that differ little, so that more of it is taken.
bool OperatorSimilar(ModelProto& model, Rng& rng) {
  static const std::vector<std::vector<std::string>> kFamilies{
      {"Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Log", "Sqrt", "Floor", "Softplus", "Not",
       "Identity", "HardSwish", "HardSigmoid", "Elu", "LeakyRelu", "Erf", "Sign", "Reciprocal"},
      {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu", "MatMul", "Equal", "Less", "And",
       "Concat", "Gather", "Mod", "Where"},
      {"AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "Softmax",
       "Flatten", "LogSoftmax", "ReduceMean", "ReduceMax", "Transpose", "Squeeze"},
      {"Conv", "ConvTranspose", "Gemm", "MatMul", "QLinearConv", "ConvInteger"},
      {"Reshape", "Expand", "Tile", "Unsqueeze", "Squeeze", "ReduceSum", "Slice", "Pad"}};
  onnx::NodeProto* node = AnyNode(model, rng);
  if (node == nullptr) return false;
  for (const auto& family : kFamilies) {
    for (const std::string& op : family) {
      if (op != node->op_type()) continue;
      node->set_op_type(OneOf(family, rng));
      if (Chance(rng, 2)) node->clear_attribute();
      return true;
    }
  }
  return false;
}

constexpr ModelChange kChanges[] = {
    {"attribute value", AttributeValue},   {"attribute small", AttributeSmall},
    {"attribute length", AttributeLength}, {"attribute missing", AttributeMissing},
    {"attribute type", AttributeType},     {"attribute foreign", AttributeForeign},
    {"operator swapped", OperatorSwapped}, {"operator similar", OperatorSimilar},
};

}  // namespace

std::span<const ModelChange> NodeChanges() {
  return kChanges;
}

}  // namespace msc::fuzz::detail
