#include "compiler/targets/native/epilogue.h"

#include <utility>

#include "compiler/base/error.h"
#include "compiler/targets/native/math.h"

namespace msc::native {

std::vector<NodeId> Group::nodes() const {
  std::vector<NodeId> all{anchor};
  for (const Follower& follower : followers) all.push_back(follower.node);
  return all;
}

ValueId ResultOf(const Graph& graph, const Group& group) {
  const NodeId last = group.followers.empty() ? group.anchor : group.followers.back().node;
  return graph.node(last).outputs.front();
}

Epilogue::Epilogue(Lowering& lowering, const Group& group, View out, std::size_t axis)
    : graph_(lowering.graph()), views_{std::move(out)} {
  const Node& anchor = graph_.node(group.anchor);
  if (anchor.domain == "msc" && (anchor.op == "Conv" || anchor.op == "Gemm")) {
    AddFused(lowering, anchor, axis);
  } else if (anchor.op == "Conv" && anchor.inputs.size() > 2 && anchor.inputs[2] != kNoValue) {
    View bias = lowering.Where(anchor.inputs[2]);
    bias.dims = views_.front().dims;
    bias.strides.assign(bias.dims.size(), 0);
    bias.strides[axis] = 1;
    bias.halo = Halo(bias.dims.size());
    bias_ = views_.size();
    views_.push_back(std::move(bias));
  }
  for (const Group::Follower& follower : group.followers) {
    const Node& node = graph_.node(follower.node);
    Step step{.node = follower.node, .flow = follower.flow, .operands = {}};
    for (std::size_t i = 0; i < OperandCount(node); ++i) {
      step.operands.push_back(i == follower.flow ? 0 : AddOperand(lowering, node.inputs[i], axis));
    }
    steps_.push_back(std::move(step));
  }
}

void Epilogue::AddFused(Lowering& lowering, const Node& node, std::size_t axis) {
  fused_ = ReadFusedAttrs(node);
  const auto input = [&](std::size_t index) {
    return index < node.inputs.size() ? node.inputs[index] : kNoValue;
  };
  const auto per_channel = [&](ValueId value) -> std::size_t {
    if (value == kNoValue) return 0;
    View view = lowering.Where(value);
    const bool one = ElementCount(view.dims) == 1;
    view.dims = views_.front().dims;
    view.strides.assign(view.dims.size(), 0);
    if (!one) view.strides[axis] = 1;
    view.halo = Halo(view.dims.size());
    views_.push_back(std::move(view));
    return views_.size() - 1;
  };
  bias_ = per_channel(input(kFusedBias));
  slope_ = per_channel(input(kFusedSlope));
  if (input(kFusedResidual) != kNoValue) {
    residual_ = AddOperand(lowering, input(kFusedResidual), axis);
  }
}

std::size_t Epilogue::AddOperand(Lowering& lowering, ValueId value, std::size_t axis) {
  const Dims& dims = views_.front().dims;
  View view = lowering.Where(value);
  const std::size_t missing = dims.size() - view.rank();
  if (axis >= missing && !view.IsUnit(axis - missing)) {
    view = lowering.WhereUnit(value, axis - missing, Halo(view.rank()));
  }
  views_.push_back(Broadcast(view, dims));
  return views_.size() - 1;
}

bool Epilogue::Remap(const std::function<std::optional<View>(const View&)>& map) {
  std::vector<View> mapped;
  for (const View& view : views_) {
    std::optional<View> to = map(view);
    if (!to) return false;
    mapped.push_back(*std::move(to));
  }
  views_ = std::move(mapped);
  return true;
}

void Epilogue::Store(KernelWriter& writer, const Place& place, Expr value, Body& body) const {
  const auto load = [&](std::size_t view) { return LoadAt(writer, views_[view], place); };
  if (bias_ != 0) value = std::move(value) + load(bias_);
  if (residual_ != 0) value = std::move(value) + load(residual_);
  value = ActivationOf(writer, fused_.activation, std::move(value),
                       slope_ != 0 ? load(slope_) : nullptr, body);
  for (const Step& step : steps_) {
    std::vector<Expr> operands;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      operands.push_back(i == step.flow ? value : load(step.operands[i]));
    }
    value = ElementwiseOf(writer, graph_, step.node, operands, body);
  }
  StoreAt(writer, views_.front(), place, std::move(value), body);
}

}  // namespace msc::native
