#include "compiler/ops/op.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/infer.h"

namespace msc {
namespace {

/// Names of the alternatives of Attr, in its order.
constexpr std::array<std::string_view, std::variant_size_v<Attr>> kAttrKinds = {
    "an integer",        "a number", "a string", "a list of integers", "a list of numbers",
    "a list of strings", "a tensor", "a graph",  "a list of tensors",  "a list of graphs"};

void CheckCount(const Node& node, std::string_view what, std::size_t count, CountRange range) {
  if (count >= range.least && count <= range.most) return;
  std::string wanted = std::to_string(range.least);
  if (range.most == OpDef::kVariadic) {
    wanted = "at least " + wanted;
  } else if (range.most != range.least) {
    wanted += " to " + std::to_string(range.most);
  }
  RejectNode(node, "needs " + wanted + " " + std::string(what) + ", not " + std::to_string(count));
}

void CheckAttrs(const Node& node, const OpDef& op) {
  for (const auto& [name, attr] : node.attrs) {
    const auto spec =
        std::find_if(op.attrs.begin(), op.attrs.end(),
                     [&name = name](const AttrSpec& known) { return known.name == name; });
    if (spec == op.attrs.end()) RejectNode(node, "has no attribute '" + name + "'");
    if (spec->otherwise.index() != attr.index()) {
      RejectNode(node, "attribute '" + name + "' must be " +
                           std::string(kAttrKinds[spec->otherwise.index()]) + ", not " +
                           std::string(kAttrKinds[attr.index()]));
    }
  }
  for (const AttrSpec& spec : op.attrs) {
    if (spec.required && !node.attrs.contains(spec.name)) {
      RejectNode(node, "needs attribute '" + spec.name + "'");
    }
  }
}

}  // namespace

void OpRegistry::Add(OpDef op) {
  Check(op.infer != nullptr && (op.eval != nullptr || op.eval_values != nullptr),
        "an operator has inference and a kernel");
  op.computes_tensors = op.eval != nullptr;
  if (!op.computes_tensors) {
    op.eval = [](const Node& node, std::span<const Tensor* const>) -> std::vector<Tensor> {
      RejectNode(node, "is computed only by the interpreter of whole graphs");
    };
  }
  std::pair<std::string, std::string> key{op.domain, op.name};
  const bool fresh = ops_.try_emplace(std::move(key), std::move(op)).second;
  Check(fresh, "an operator is registered once");
}

const OpDef* OpRegistry::Find(std::string_view domain, std::string_view name) const {
  const auto it = ops_.find({std::string(domain), std::string(name)});
  return it == ops_.end() ? nullptr : &it->second;
}

const OpDef& OpRegistry::Get(const Node& node) const {
  const OpDef* op = Find(node.domain, node.op);
  if (op != nullptr) return *op;
  const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
  throw UserError("node '" + node.name + "': operator '" + node.op + "' of domain '" + domain +
                  "' is not supported");
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  all.reserve(ops_.size());
  for (const auto& [key, op] : ops_) all.push_back(&op);
  return all;
}

void CheckNode(const Graph& graph, NodeId id, const OpRegistry& ops) {
  const Node& node = graph.node(id);
  const OpDef& op = ops.Get(node);
  CheckCount(node, "inputs", node.inputs.size(), op.inputs);
  CheckCount(node, "outputs", node.outputs.size(), {op.min_outputs, op.max_outputs});
  // A variadic operator has no optional inputs.
  const bool all = op.inputs.most == OpDef::kVariadic;
  for (std::size_t i = 0; i < (all ? node.inputs.size() : op.inputs.least); ++i) {
    if (node.inputs[i] == kNoValue) {
      RejectNode(node, "input " + std::to_string(i) + " must be given");
    }
  }
  CheckAttrs(node, op);
}

}  // namespace msc
