#include "compiler/import/onnx/reads.h"

#include <onnx/onnx_pb.h>

namespace msc::detail {

void ForEachRead(const onnx::NodeProto& node,
                 const std::function<void(const std::string&)>& visit) {
  for (const std::string& name : node.input()) visit(name);
  const auto nested = [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) ForEachRead(inner, visit);
    for (const auto& output : graph.output()) visit(output.name());
  };
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) nested(attribute.g());
    for (const auto& graph : attribute.graphs()) nested(graph);
  }
}

void CountReads(const onnx::GraphProto& proto, Reads& reads) {
  for (const auto& node : proto.node()) {
    ForEachRead(node, [&](const std::string& name) { ++reads[name]; });
  }
  for (const auto& output : proto.output()) ++reads[output.name()];
}

}  // namespace msc::detail
