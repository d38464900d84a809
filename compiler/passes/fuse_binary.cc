#include <utility>
#include <vector>

#include "compiler/passes/activation.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/narrowing.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

bool FuseBinary(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Add") && !node.Is("Mul")) return false;
  const auto a = NarrowSource(graph, node.inputs[0]);
  const auto b = NarrowSource(graph, node.inputs[1]);
  if (!a || !b) return false;
  const bool integers = a->form.IsPerTensorInt8() && b->form.IsPerTensorInt8();
  const bool bf16 = a->form.IsBF16() && b->form.IsBF16();
  if (!integers && !bf16) return false;

  FusedAttrs attrs;
  attrs.x = a->form.Params();
  attrs.r = b->form.Params();
  std::vector<NodeId> nodes = {id};
  ValueId output = node.outputs.front();
  const ActivationMatch match = FindActivation(graph, output);
  // No target computes GELU as part of an Add of narrow values.
  const bool gelu = match.activation.op.starts_with("Gelu");
  if (match.slope == kNoValue && !match.nodes.empty() && !gelu) {
    attrs.activation = match.activation;
    nodes.insert(nodes.end(), match.nodes.begin(), match.nodes.end());
    output = graph.node(nodes.back()).outputs.front();
  }
  if (IsCaptured(graph, output)) return false;
  ValueType type = graph.type(output);
  const NodeId narrowing = OnlyNarrowing(graph, output);
  if (narrowing != kNoNode) {
    const auto form = ReadNarrowing(graph, narrowing);
    if (integers ? form->IsPerTensorInt8() : form->IsBF16()) {
      attrs.y = form->Params();
      nodes.push_back(narrowing);
      type = graph.type(graph.node(narrowing).outputs.front());
    }
  }
  attrs.y_type = type.dtype;
  AttrMap map = {{"op", node.op}};
  WriteFusedAttrs(attrs, map);
  ReplaceChain(
      graph, nodes,
      Node{
          .op = "Binary", .domain = "msc", .inputs = {a->value, b->value}, .attrs = std::move(map)},
      std::move(type));
  return true;
}

}  // namespace

bool FuseBinaries(Graph& graph) {
  return Sweep(graph, [&](NodeId id) { return FuseBinary(graph, id); });
}

}  // namespace msc
