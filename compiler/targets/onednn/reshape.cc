#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {

bool LowerReshape(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const ValueId x = node.inputs[0];
  const ValueId y = node.outputs[0];
  const auto from = DenseDescOf(graph, x);
  const auto to = DenseDescOf(graph, y);
  if (!from || !to || graph.constant(x) || ElemOf(*from) != ElemOf(*to)) return false;
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return false;
  const Desc here = lowering.Here(x);
  if (IsDense(here)) {
    lowering.Same(y, x, *to);
    return true;
  }
  StepLabel label = lowering.LabelOf(id, ElemOf(*to));
  label.precision = "";
  const BufferId source = lowering.In(x, here);
  return lowering.AddReorder({DNNL_ARG_FROM, here, source},
                             {DNNL_ARG_TO, *from, lowering.Out(y, *to)}, Lowering::NewAttr(),
                             label);
}

bool LowerTranspose(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const ValueId x = node.inputs[0];
  const ValueId y = node.outputs[0];
  const auto from = DenseDescOf(graph, x);
  const auto to = DenseDescOf(graph, y);
  if (!from || !to || graph.constant(x)) return false;
  const std::size_t rank = DimsOf(graph, x).size();
  std::vector<std::int64_t> perm = AttrOr(node, "perm", std::vector<std::int64_t>());
  if (perm.empty()) {
    for (std::size_t i = rank; i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  }
  if (perm.size() != rank || rank == 0) return false;
  // Axis i of x becomes axis moved[i] of y.
  std::vector<int> moved(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    moved[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
  }
  const Desc here = lowering.Here(x);
  const auto seen = TryMake([&] { return here.permute_axes(moved); });
  if (!seen) return false;
  if (SameBytes(*seen, *to)) {
    lowering.Same(y, x, *to);
    return true;
  }
  StepLabel label = lowering.LabelOf(id, ElemOf(*to));
  label.precision = "";
  const BufferId source = lowering.In(x, here);
  return lowering.AddReorder({DNNL_ARG_FROM, *seen, source},
                             {DNNL_ARG_TO, *to, lowering.Out(y, *to)}, Lowering::NewAttr(), label);
}

}  // namespace msc::onednn
