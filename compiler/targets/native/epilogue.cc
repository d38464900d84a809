#include "compiler/targets/native/epilogue.h"

#include <utility>

#include "compiler/base/error.h"
#include "compiler/targets/native/math.h"
#include "compiler/targets/native/operands.h"

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
    bias_ = views_.size();
    views_.push_back(AlongAxis(lowering.Where(anchor.inputs[2]), views_.front().dims, axis));
  }
  for (const Group::Follower& follower : group.followers) {
    Step step{.node = follower.node, .flow = follower.flow, .operands = {}};
    std::vector<View> operands =
        OperandsOf(lowering, follower.node, views_.front().dims, axis, follower.flow);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      step.operands.push_back(i == follower.flow ? 0 : views_.size());
      if (i != follower.flow) views_.push_back(std::move(operands[i]));
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
    views_.push_back(AlongAxis(lowering.Where(value), views_.front().dims, axis));
    return views_.size() - 1;
  };
  bias_ = per_channel(input(kFusedBias));
  slope_ = per_channel(input(kFusedSlope));
  if (input(kFusedResidual) != kNoValue) {
    residual_ = views_.size();
    views_.push_back(OperandOf(lowering, input(kFusedResidual), views_.front().dims, axis));
  }
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
