#include "compiler/codegen/onnx/schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/defs/schema.h>

#include "compiler/ops/op.h"

namespace msc::detail {
namespace {

std::string_view OnnxName(DType dtype) {
  // The names follow the order of the enumerators.
  constexpr auto kNames = std::to_array<std::string_view>(
      {"", "tensor(float)", "tensor(uint8)", "tensor(int8)", "tensor(uint16)", "tensor(int16)",
       "tensor(int32)", "tensor(int64)", "tensor(string)", "tensor(bool)", "tensor(float16)",
       "tensor(double)", "tensor(uint32)", "tensor(uint64)", "tensor(complex64)",
       "tensor(complex128)", "tensor(bfloat16)"});
  return kNames.at(static_cast<std::size_t>(dtype));
}

/// Returns whether `attr` equals its default in the schema of compiler/ops.
bool IsOtherwise(const Node& node, const std::string& name, const Attr& attr) {
  const OpDef* op = Ops().Find(node.domain, node.op);
  if (op == nullptr) return false;
  const auto spec = std::find_if(op->attrs.begin(), op->attrs.end(),
                                 [&](const AttrSpec& known) { return known.name == name; });
  return spec != op->attrs.end() && !spec->required && SameAttr(spec->otherwise, attr);
}

void CheckAttrs(OutNode& node, const onnx::OpSchema& schema) {
  for (auto it = node.attrs.begin(); it != node.attrs.end();) {
    if (schema.attributes().count(it->first) > 0) {
      ++it;
    } else if (IsOtherwise(node.node(), it->first, it->second)) {
      it = node.attrs.erase(it);
    } else {
      node.Reject("attribute '" + it->first + "' does not exist there");
    }
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required && !node.attrs.contains(name)) {
      node.Reject("attribute '" + name + "' is needed there");
    }
  }
}

void CheckCount(const OutNode& node, std::string_view what, std::size_t count, int least,
                int most) {
  const auto n = static_cast<std::int64_t>(count);
  if (n >= least && n <= most) return;
  node.Reject(std::to_string(count) + " " + std::string(what) + " do not exist there");
}

using Parameters = std::vector<onnx::OpSchema::FormalParameter>;

/// Checks that required inputs or outputs are present.
void CheckGiven(const OutNode& node, const Parameters& formal,
                const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size() && i < formal.size(); ++i) {
    if (!names[i].empty() || formal[i].GetOption() != onnx::OpSchema::Single) continue;
    node.Reject("'" + formal[i].GetName() + "' must be given there");
  }
}

/// Checks element types. `types` collects the type of each type parameter of the schema.
void CheckTypes(const OutNode& node, const Parameters& formal,
                const std::vector<std::string>& names, std::map<std::string, DType>& types) {
  if (formal.empty()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const ValueId id = node.graph.FindValue(names[i]);
    if (id == kNoValue) continue;  // added by the conversion
    const ValueType& type = node.graph.type(id);
    if (type.dtype == DType::kUndefined || type.container != Container::kTensor) continue;
    const auto& parameter = formal[std::min(i, formal.size() - 1)];
    const auto& allowed = parameter.GetTypes();
    const std::string_view wanted = OnnxName(type.dtype);
    if (std::none_of(allowed.begin(), allowed.end(),
                     [&](const std::string* name) { return *name == wanted; })) {
      node.Reject("'" + names[i] + "' cannot be " + std::string(Name(type.dtype)) + " there");
    }
    if (parameter.GetOption() == onnx::OpSchema::Variadic && !parameter.GetIsHomogeneous())
      continue;
    const auto [same, first] = types.emplace(parameter.GetTypeStr(), type.dtype);
    if (!first && same->second != type.dtype) {
      node.Reject("'" + names[i] + "' must be " + std::string(Name(same->second)) +
                  " as others of the node are, not " + std::string(Name(type.dtype)) + ", there");
    }
  }
}

}  // namespace

void CheckSchema(OutNode& node) {
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(node.opset), "");
  if (schema == nullptr || schema->Deprecated()) node.Reject("the operator does not exist there");
  CheckAttrs(node, *schema);
  CheckCount(node, "inputs", node.inputs.size(), schema->min_input(), schema->max_input());
  CheckCount(node, "outputs", node.outputs.size(), schema->min_output(), schema->max_output());
  CheckGiven(node, schema->inputs(), node.inputs);
  CheckGiven(node, schema->outputs(), node.outputs);
  std::map<std::string, DType> types;
  CheckTypes(node, schema->inputs(), node.inputs, types);
  CheckTypes(node, schema->outputs(), node.outputs, types);
}

}  // namespace msc::detail
