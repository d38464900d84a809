#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/graph.h"

namespace msc {

std::string ToString(const ValueType& type) {
  std::string text(Name(type.dtype));
  text += type.shape ? ToString(*type.shape) : "[*]";
  switch (type.container) {
    case Container::kTensor:
      return text;
    case Container::kSequence:
      return "seq(" + text + ")";
    case Container::kOptional:
      return "opt(" + text + ")";
    case Container::kOptionalSequence:
      return "opt(seq(" + text + "))";
  }
  return text;
}

bool HasFixedSize(const ValueType& type) {
  return type.container == Container::kTensor && type.dtype != DType::kUndefined &&
         type.dtype != DType::kString && type.shape && StaticDims(*type.shape);
}

template <class T>
T AttrOr(const Node& node, std::string_view name, T otherwise) {
  const auto it = node.attrs.find(name);
  if (it == node.attrs.end()) return otherwise;
  if (const T* value = std::get_if<T>(&it->second)) return *value;
  throw UserError("node '" + node.name + "' (" + node.op + "): attribute '" + std::string(name) +
                  "' has the wrong type");
}

template std::int64_t AttrOr(const Node&, std::string_view, std::int64_t);
template float AttrOr(const Node&, std::string_view, float);
template std::string AttrOr(const Node&, std::string_view, std::string);
template std::vector<std::int64_t> AttrOr(const Node&, std::string_view, std::vector<std::int64_t>);
template std::vector<float> AttrOr(const Node&, std::string_view, std::vector<float>);
template std::vector<std::string> AttrOr(const Node&, std::string_view, std::vector<std::string>);
template TensorPtr AttrOr(const Node&, std::string_view, TensorPtr);

GraphCounts CountContents(const Graph& graph) {
  GraphCounts counts;
  const auto add_nested = [&](const GraphPtr& nested) {
    if (!nested) return;
    const GraphCounts inner = CountContents(*nested);
    for (const auto& [op, n] : inner.nodes) counts.nodes[op] += n;
    counts.total_nodes += inner.total_nodes;
    counts.parameters += inner.parameters;
    counts.weight_bytes += inner.weight_bytes;
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    ++counts.nodes[node.domain.empty() ? node.op : node.domain + "." + node.op];
    ++counts.total_nodes;
    for (const auto& [name, attr] : node.attrs) {
      if (const auto* one = std::get_if<GraphPtr>(&attr)) add_nested(*one);
      if (const auto* many = std::get_if<std::vector<GraphPtr>>(&attr)) {
        for (const GraphPtr& nested : *many) add_nested(nested);
      }
    }
  }
  for (const ValueId id : graph.constants()) {
    counts.parameters += graph.constant(id)->size();
    counts.weight_bytes += static_cast<std::int64_t>(graph.constant(id)->bytes());
  }
  return counts;
}

}  // namespace msc
