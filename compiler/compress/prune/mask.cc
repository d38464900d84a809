#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "compiler/compress/prune/kept.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/lstm.h"

namespace msc {

/// Returns the indices along an axis that stay.
std::vector<std::int64_t> KeptIndices(const std::vector<std::int32_t>& units,
                                      const std::vector<bool>& kept) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i] < 0 || kept[static_cast<std::size_t>(units[i])]) {
      indices.push_back(static_cast<std::int64_t>(i));
    }
  }
  return indices;
}

AxisView ViewAlong(const Tensor& tensor, std::size_t axis) {
  AxisView view;
  const Dims& dims = tensor.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto size = static_cast<std::size_t>(dims[i]);
    (i < axis ? view.outer : i == axis ? view.size : view.inner_bytes) *= size;
  }
  view.inner_bytes *= ByteSize(tensor.dtype());
  return view;
}

namespace {

/// Operand `input` of a node that sums products, and the axis of that operand that is summed over.
struct Contraction {
  std::size_t input = 0;
  std::size_t axis = 0;
};
/// The operands of one sum, weights first.
using Contractions = std::vector<Contraction>;

/// Returns the sums of a node; empty for other nodes.
std::vector<Contractions> ContractionsOf(const Node& node, const PruneSpace& space) {
  if (!node.domain.empty()) return {};
  if (node.op == "Conv") return {{{1, 1}, {0, 1}}};
  if (node.op == "ConvTranspose") return {{{1, 0}, {0, 1}}};
  // The other operand of R is the previous state, inside the node.
  if (node.op == "LSTM") return {{{kLstmW, 2}, {kLstmX, 2}}, {{kLstmR, 2}}};
  if (node.op == "Gemm") {
    const std::size_t a = AttrOr(node, "transA", std::int64_t{0}) != 0 ? 0 : 1;
    const std::size_t b = AttrOr(node, "transB", std::int64_t{0}) != 0 ? 1 : 0;
    return {{{1, b}, {0, a}}};
  }
  if (node.op == "MatMul") {
    const Dims* a = space.Sizes(node.inputs[0]);
    const Dims* b = space.Sizes(node.inputs[1]);
    if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) return {};
    return {{{1, b->size() - 2}, {0, a->size() - 1}}};
  }
  return {};
}

void ZeroRemoved(Tensor& tensor, std::size_t axis, const std::vector<std::int32_t>& units,
                 const std::vector<bool>& kept) {
  const AxisView view = ViewAlong(tensor, axis);
  for (std::size_t outer = 0; outer < view.outer; ++outer) {
    for (std::size_t i = 0; i < view.size; ++i) {
      if (units[i] < 0 || kept[static_cast<std::size_t>(units[i])]) continue;
      std::memset(tensor.MutableRaw().data() + (outer * view.size + i) * view.inner_bytes, 0,
                  view.inner_bytes);
    }
  }
}

/// Inserts a Mul by zeros and ones in front of an operand.
void MultiplyByMask(Graph& graph, NodeId id, const Contraction& side,
                    const std::vector<std::int32_t>& units, const std::vector<bool>& kept) {
  const ValueId value = graph.node(id).inputs[side.input];
  const ValueType type = graph.type(value);
  Dims dims(type.shape.value().size(), 1);
  dims[side.axis] = std::ssize(units);
  const bool wide = type.dtype == DType::kF64;
  Tensor ones(wide ? DType::kF64 : DType::kF32, dims);
  if (wide) {
    std::ranges::fill(ones.MutableValues<double>(), 1.0);
  } else {
    std::ranges::fill(ones.MutableValues<float>(), 1.0F);
    ones = FromF32(ones, type.dtype);
  }
  ZeroRemoved(ones, side.axis, units, kept);
  const std::string stem = graph.value(value).name;
  const ValueId mask = graph.AddConstant(graph.FreeValueName(stem + "_mask"), std::move(ones));
  const ValueId masked = graph.AddValue(graph.FreeValueName(stem + "_masked"), type);
  graph.AddNode({.name = graph.FreeNodeName(stem + "_mask"),
                 .op = "Mul",
                 .inputs = {value, mask},
                 .outputs = {masked}},
                id);
  graph.SetInput(id, side.input, masked);
}

/// Zeroes the removed channels in one sum: in a constant operand if there is one, else by a mask.
void MaskSum(Graph& graph, NodeId id, const Contractions& sides, const PruneSpace& space,
             const std::vector<bool>& kept) {
  const Node node = graph.node(id);
  const auto removes = [&](const Contraction& side) {
    const auto& units = space.Units(node.inputs[side.input], side.axis);
    return KeptIndices(units, kept).size() != units.size();
  };
  if (!removes(sides[0])) return;
  // A product is 0 if one of its operands is, and zeros in a constant cost nothing when the model
  // runs.
  for (const Contraction& side : sides) {
    const ValueId value = node.inputs[side.input];
    const TensorPtr tensor = graph.constant(value);
    if (tensor == nullptr || !removes(side)) continue;
    Tensor zeroed = *tensor;
    ZeroRemoved(zeroed, side.axis, space.Units(value, side.axis), kept);
    return graph.SetConstant(value, std::make_shared<const Tensor>(std::move(zeroed)));
  }
  MultiplyByMask(graph, id, sides[0], space.Units(node.inputs[sides[0].input], sides[0].axis),
                 kept);
}

/// Returns the size of an axis if only kept units remain; 0 if it is unknown.
double KeptSize(const PruneSpace& space, ValueId value, std::size_t axis,
                const std::vector<bool>& kept) {
  const auto& units = space.Units(value, axis);
  if (!units.empty()) return static_cast<double>(KeptIndices(units, kept).size());
  const Dims* sizes = space.CountedSizes(value);
  return sizes == nullptr ? 0.0 : static_cast<double>(sizes->at(axis));
}

double KeptElements(const PruneSpace& space, ValueId value, const std::vector<bool>& kept) {
  const Dims* sizes = space.CountedSizes(value);
  if (sizes == nullptr) return 0;
  double count = 1;
  for (std::size_t axis = 0; axis < sizes->size(); ++axis) {
    count *= KeptSize(space, value, axis, kept);
  }
  return count;
}

}  // namespace

void MaskPrunePlan(const PrunePlan& plan, Graph& graph) {
  if (plan.groups.empty()) return;
  const PruneSpace space(graph);
  const std::vector<bool> kept = KeptUnits(space, plan);
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    for (const Contractions& sides : ContractionsOf(graph.node(id), space)) {
      MaskSum(graph, id, sides, space, kept);
    }
  }
}

double KeptMacs(const Graph& graph, const PruneSpace& space, NodeId id,
                const std::vector<bool>& kept) {
  const Node& node = graph.node(id);
  const std::vector<Contractions> sums = ContractionsOf(node, space);
  if (sums.empty()) return 0;
  const ValueId weights = node.inputs[1];
  if (node.op == "LSTM") {
    // Each step of each sample multiplies all weights of W and R once.
    const double steps = KeptSize(space, node.inputs[kLstmX], 0, kept) *
                         KeptSize(space, node.inputs[kLstmX], 1, kept);
    return steps *
           (KeptElements(space, weights, kept) + KeptElements(space, node.inputs[kLstmR], kept));
  }
  const double summed = KeptSize(space, weights, sums[0][0].axis, kept);
  if (!node.op.starts_with("Conv")) {
    return KeptElements(space, node.outputs[0], kept) * summed;
  }
  // Each element of the input (ConvTranspose) or of the output (Conv) takes part in one kernel.
  const bool transposed = node.op == "ConvTranspose";
  const double moved = KeptElements(space, transposed ? node.inputs[0] : node.outputs[0], kept);
  const double kernels = KeptSize(space, weights, 0, kept);
  return kernels > 0 ? moved * KeptElements(space, weights, kept) / kernels : 0;
}

double KeptBytes(const Graph& graph, const PruneSpace& space, const std::vector<bool>& kept) {
  double bytes = 0;
  for (const ValueId id : graph.constants()) {
    bytes += KeptElements(space, id, kept) * static_cast<double>(ByteSize(graph.type(id).dtype));
  }
  return bytes;
}

}  // namespace msc
