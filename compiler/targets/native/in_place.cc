#include "compiler/targets/native/in_place.h"

#include <algorithm>
#include <vector>

#include "compiler/targets/native/math.h"
#include "compiler/targets/native/operands.h"

namespace msc::native {
namespace {

bool IsFused(const Node& node) {
  return node.domain == "msc" && (node.op == "Conv" || node.op == "Gemm");
}

/// An input of a node, and whether the node reads each element only where it writes one.
struct Input {
  ValueId value;
  bool in_step;
};

/// Returns all inputs that the kernel of the group reads from memory.
std::vector<Input> InputsOf(const Graph& graph, const Group& group) {
  std::vector<Input> inputs;
  const auto add = [&](NodeId id, std::size_t flow) {
    const Node& node = graph.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue || i == flow) continue;
      const bool in_step =
          IsElementwise(graph, id) || (IsFused(node) && i == std::size_t{kFusedResidual});
      inputs.push_back({node.inputs[i], in_step});
    }
  };
  add(group.anchor, kNoFlow);
  for (const Group::Follower& follower : group.followers) add(follower.node, follower.flow);
  return inputs;
}

bool SamePlaces(const View& a, const View& b) {
  return a.buffer == b.buffer && a.dtype == b.dtype && a.dims == b.dims && a.strides == b.strides &&
         a.offset == b.offset;
}

}  // namespace

void PlaceOver(Lowering& lowering, const Group& group, const std::set<NodeId>& done) {
  const Graph& graph = lowering.graph();
  const Node& anchor = graph.node(group.anchor);
  if (!group.prologue.empty() || !(IsElementwise(graph, group.anchor) || IsFused(anchor))) return;
  const ValueId result = ResultOf(graph, group);
  const Dims dims = lowering.DimsOf(result);
  const std::vector<Input> inputs = InputsOf(graph, group);
  const std::vector<NodeId> own = group.nodes();
  const auto is_read_later = [&](ValueId value) {
    const std::vector<Use>& uses = graph.uses(value);
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return !done.contains(use.node) && std::find(own.begin(), own.end(), use.node) == own.end();
    });
  };
  for (const Input& input : inputs) {
    const View* const view = lowering.Placed(input.value);
    if (!input.in_step || view == nullptr || view->dims != dims) continue;
    if (!lowering.MayLieAt(result, *view)) continue;
    // A fused kernel computes its values in its own axis order.
    if (IsFused(anchor) && AxisOrder(*view) != AxisOrder(dims.size())) continue;
    // Every other input in this memory must be read at the same places in step, or the kernel would
    // overwrite entries before it reads them.
    const bool fits = std::all_of(inputs.begin(), inputs.end(), [&](const Input& other) {
      const View* const at = lowering.Placed(other.value);
      return at == nullptr || at->buffer != view->buffer ||
             (other.in_step && SamePlaces(*at, *view));
    });
    const std::vector<ValueId> values = lowering.ValuesIn(view->buffer);
    if (!fits || std::any_of(values.begin(), values.end(), is_read_later)) continue;
    lowering.Alias(result, *view);
    return;
  }
}

}  // namespace msc::native
