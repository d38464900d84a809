#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/fuse.h"
#include "compiler/passes/narrowing.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

bool IsUsable(const Narrowing& form) {
  return form.IsBF16() || form.IsPerTensorInt8();
}

bool FusePool(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("AveragePool") && !node.Is("GlobalAveragePool")) return false;
  const auto x = NarrowSource(graph, node.inputs.front());
  if (!x || !IsUsable(x->form) || IsCaptured(graph, node.outputs.front())) return false;
  auto pool = FusedPool(graph, id);
  if (!pool) return false;
  FusedAttrs attrs;
  attrs.x = x->form.Params();
  std::vector<NodeId> nodes = {id};
  ValueType type = graph.type(node.outputs.front());
  const NodeId narrowing = OnlyNarrowing(graph, node.outputs.front());
  if (narrowing != kNoNode) {
    const auto form = ReadNarrowing(graph, narrowing);
    if (IsUsable(*form) && form->IsBF16() == x->form.IsBF16()) {
      attrs.y = form->Params();
      nodes.push_back(narrowing);
      type = graph.type(graph.node(narrowing).outputs.front());
    }
  }
  pool->inputs = {x->value};
  attrs.y_type = type.dtype;
  WriteFusedAttrs(attrs, pool->attrs);
  ReplaceChain(graph, nodes, std::move(*pool), std::move(type));
  return true;
}

}  // namespace

std::optional<Window> KnownWindow(const Graph& graph, NodeId id, const Dims& kernel) {
  const Node& node = graph.node(id);
  const std::optional<Shape>& shape = graph.type(node.inputs.front()).shape;
  if (!shape || shape->size() < 3) return std::nullopt;
  Dims spatial;
  for (std::size_t i = 2; i < shape->size(); ++i) spatial.push_back((*shape)[i].size());
  const bool known = std::find(spatial.begin(), spatial.end(), -1) == spatial.end();
  const auto auto_pad = AttrOr<std::string>(node, "auto_pad", "NOTSET");
  if (!known && auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  return ReadWindow(node, spatial, kernel);
}

void WriteWindow(const Window& window, AttrMap& attrs) {
  std::vector<std::int64_t> pads = window.pads_begin;
  pads.insert(pads.end(), window.pads_end.begin(), window.pads_end.end());
  attrs["kernel_shape"] = window.kernel;
  attrs["strides"] = window.strides;
  attrs["dilations"] = window.dilations;
  attrs["pads"] = std::move(pads);
}

std::optional<Node> FusedPool(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Node pool{.op = "Pool", .domain = "msc", .attrs = {{"op", node.op}}};
  if (node.op == "GlobalAveragePool") return pool;
  const auto window = KnownWindow(graph, id, {});
  if (!window) return std::nullopt;
  WriteWindow(*window, pool.attrs);
  for (const auto* name : {"ceil_mode", "count_include_pad"}) {
    const auto attr = node.attrs.find(name);
    if (attr != node.attrs.end()) pool.attrs.insert(*attr);
  }
  return pool;
}

NodeId OnlyNarrowing(const Graph& graph, ValueId value) {
  const auto reader = OnlyReader(graph, value);
  if (!reader || reader->index != 0 || !ReadNarrowing(graph, reader->node)) return kNoNode;
  const ValueId made = graph.node(reader->node).outputs.front();
  return IsCaptured(graph, made) ? kNoNode : reader->node;
}

bool FusePools(Graph& graph) {
  return Sweep(graph, [&](NodeId id) { return FusePool(graph, id); });
}

}  // namespace msc
