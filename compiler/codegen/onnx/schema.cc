#include "compiler/codegen/onnx/schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/onnx/forms.h"
#include "compiler/ops/op.h"

namespace msc::detail {
namespace {

/// Returns whether `attr` equals its default in the schema of compiler/ops.
bool IsOtherwise(const Node& node, const std::string& name, const Attr& attr) {
  const OpDef* op = Ops().Find(node.domain, node.op);
  if (op == nullptr) return false;
  const auto spec = std::find_if(op->attrs.begin(), op->attrs.end(),
                                 [&](const AttrSpec& known) { return known.name == name; });
  return spec != op->attrs.end() && !spec->required && SameAttr(spec->otherwise, attr);
}

void CheckAttrs(OutNode& node, const OperatorForm& form) {
  for (auto it = node.attrs.begin(); it != node.attrs.end();) {
    if (form.attrs.contains(it->first)) {
      ++it;
    } else if (IsOtherwise(node.node(), it->first, it->second)) {
      it = node.attrs.erase(it);
    } else {
      node.Reject("attribute '" + it->first + "' does not exist there");
    }
  }
  for (const auto& [name, required] : form.attrs) {
    if (required && !node.attrs.contains(name)) {
      node.Reject("attribute '" + name + "' is needed there");
    }
  }
}

void CheckCount(const OutNode& node, std::string_view what, std::size_t count, std::size_t least,
                std::size_t most) {
  if (count >= least && count <= most) return;
  node.Reject(std::to_string(count) + " " + std::string(what) + " do not exist there");
}

using Parameters = std::vector<FormalParameter>;

/// Checks that required inputs or outputs are present.
void CheckGiven(const OutNode& node, const Parameters& formal,
                const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size() && i < formal.size(); ++i) {
    if (!names[i].empty() || formal[i].presence != Presence::kRequired) continue;
    node.Reject("'" + formal[i].name + "' must be given there");
  }
}

struct ContainerRule {
  std::string_view op;
  std::int64_t sequences;  ///< first set that takes sequences
  std::int64_t optionals;  ///< first set that takes optionals
};

/// Operators for tensors that take other values since a later set than their first.
constexpr std::array<ContainerRule, 5> kContainerRules = {{
    {"Identity", 14, 16},
    {"If", 13, 16},
    {"Loop", 13, 16},
    {"OptionalGetElement", 18, 15},
    {"OptionalHasElement", 18, 15},
}};

/// Checks that the set's form of the operator takes sequences and optionals.
void CheckContainers(const OutNode& node) {
  const auto rule = std::find_if(kContainerRules.begin(), kContainerRules.end(),
                                 [&](const ContainerRule& one) { return one.op == node.op; });
  if (rule == kContainerRules.end()) return;
  const auto check = [&](const std::vector<ValueId>& values) {
    for (const ValueId id : values) {
      if (id == kNoValue) continue;
      const Container container = node.graph.type(id).container;
      if (container == Container::kTensor) continue;
      const bool sequence = container == Container::kSequence;
      if (node.opset >= (sequence ? rule->sequences : rule->optionals)) continue;
      node.Reject("'" + node.graph.value(id).name + "' cannot be " +
                  (sequence ? "a sequence" : "optional") + " there");
    }
  };
  check(node.node().inputs);
  check(node.node().outputs);
}

/// Checks element types. `types` collects the type of each type parameter of the signature.
void CheckTypes(const OutNode& node, const Parameters& formal,
                const std::vector<std::string>& names, std::map<std::string, DType>& types) {
  if (formal.empty()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const ValueId id = node.graph.FindValue(names[i]);
    if (id == kNoValue) continue;  // added by the conversion
    const ValueType& type = node.graph.type(id);
    if (type.dtype == DType::kUndefined || type.container != Container::kTensor) continue;
    const FormalParameter& parameter = formal[std::min(i, formal.size() - 1)];
    if (!parameter.Allows(type.dtype)) {
      node.Reject("'" + names[i] + "' cannot be " + std::string(Name(type.dtype)) + " there");
    }
    if (parameter.presence == Presence::kVariadic && !parameter.alike) continue;
    const auto [same, first] = types.emplace(parameter.type, type.dtype);
    if (!first && same->second != type.dtype) {
      node.Reject("'" + names[i] + "' must be " + std::string(Name(same->second)) +
                  " as others of the node are, not " + std::string(Name(type.dtype)) + ", there");
    }
  }
}

}  // namespace

void CheckSchema(OutNode& node) {
  const std::optional<OperatorForm> form = FormOf(node.op, node.opset);
  if (!form) node.Reject("the operator does not exist there");
  CheckAttrs(node, *form);
  CheckCount(node, "inputs", node.inputs.size(), form->least_inputs, form->most_inputs);
  CheckCount(node, "outputs", node.outputs.size(), form->least_outputs, form->most_outputs);
  CheckGiven(node, form->inputs, node.inputs);
  CheckGiven(node, form->outputs, node.outputs);
  CheckContainers(node);
  std::map<std::string, DType> types;
  CheckTypes(node, form->inputs, node.inputs, types);
  CheckTypes(node, form->outputs, node.outputs, types);
}

}  // namespace msc::detail
