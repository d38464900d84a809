#include "compiler/targets/native/epilogue.h"

#include <utility>

#include "compiler/targets/native/math.h"
#include "compiler/targets/native/operands.h"
#include "compiler/targets/native/quantize.h"

namespace msc::native {
namespace {

std::optional<std::vector<View>> Mapped(
    const std::vector<View>& views, const std::function<std::optional<View>(const View&)>& map) {
  std::vector<View> mapped;
  for (const View& view : views) {
    std::optional<View> to = map(view);
    if (!to) return std::nullopt;
    mapped.push_back(*std::move(to));
  }
  return mapped;
}

}  // namespace

std::vector<NodeId> Group::nodes() const {
  std::vector<NodeId> all;
  if (!prologue.empty()) all = prologue.front().nodes();
  all.push_back(anchor);
  for (const Follower& follower : followers) all.push_back(follower.node);
  return all;
}

ValueId ResultOf(const Graph& graph, const Group& group) {
  const NodeId last = group.followers.empty() ? group.anchor : group.followers.back().node;
  return graph.node(last).outputs.front();
}

Epilogue::Epilogue(Lowering& lowering, const Group& group, View out, std::size_t axis,
                   std::size_t channels)
    : graph_(lowering.graph()), views_{std::move(out)} {
  const Node& anchor = graph_.node(group.anchor);
  made_ = graph_.type(anchor.outputs[0]).dtype;
  is_fused_ =
      anchor.domain == "msc" && (anchor.op == "Conv" || anchor.op == "Gemm" || anchor.op == "Pool");
  if (is_fused_) {
    AddFused(lowering, anchor, axis, channels);
  } else if ((anchor.op == "Conv" || anchor.op == "ConvTranspose") && anchor.HasInput(2)) {
    bias_ = views_.size();
    views_.push_back(AlongAxis(lowering.Where(anchor.inputs[2]), views_.front().dims, channels));
  }
  for (const Group::Follower& follower : group.followers) {
    Step step{.node = follower.node, .flow = follower.flow};
    std::vector<View> operands =
        OperandsOf(lowering, follower.node, views_.front().dims, axis, follower.flow);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      step.operands.push_back(i == follower.flow ? 0 : views_.size());
      if (i != follower.flow) views_.push_back(std::move(operands[i]));
    }
    steps_.push_back(std::move(step));
  }
}

void Epilogue::AddFused(Lowering& lowering, const Node& node, std::size_t axis,
                        std::size_t channels) {
  fused_ = ReadFusedAttrs(node);
  // In steps of y, no multiplication is left between activation and rounding.
  if (IsQuantized(fused_.y_type) && CommutesWithScale(fused_.activation)) {
    unit_ = static_cast<double>(fused_.y.scale);
  }
  fused_.activation = InUnit(fused_.activation, unit_);
  if (node.op == "Pool") return;
  const auto per_channel = [&](ValueId value) -> std::size_t {
    if (value == kNoValue) return 0;
    views_.push_back(AlongAxis(lowering.Where(value), views_.front().dims, channels));
    return views_.size() - 1;
  };
  if (node.Input(kFusedWeightScale) != kNoValue || unit_ != 1) {
    AddScales(lowering, node, channels);
  } else {
    bias_ = per_channel(node.Input(kFusedBias));
  }
  slope_ = per_channel(node.Input(kFusedSlope));
  if (node.Input(kFusedResidual) != kNoValue) {
    residual_ = views_.size();
    views_.push_back(OperandOf(lowering, node.Input(kFusedResidual), views_.front().dims, axis));
  }
}

/// Adds constants for scale and bias per channel, in units. Sums that start from a whole bias get
/// none.
void Epilogue::AddScales(Lowering& lowering, const Node& node, std::size_t channels) {
  const auto list = [&](std::size_t index) -> std::span<const float> {
    const bool given = node.HasInput(index);
    return given ? graph_.constant(node.inputs[index])->Values<float>() : std::span<const float>();
  };
  const std::span<const float> w_scale = list(kFusedWeightScale);
  const std::span<const float> bias = list(kFusedBias);
  const float x_scale = w_scale.empty() ? 1 : fused_.x.scale;
  const auto unit = static_cast<float>(unit_);
  const std::int64_t count = lowering.DimsOf(node.inputs[kFusedW])[0];
  const auto add = [&](std::span<const float> values, float factor) {
    const View view = lowering.Constant(DType::kF32, count, [&](Tensor& tensor) {
      const std::span<float> out = tensor.MutableValues<float>();
      for (std::size_t c = 0; c < out.size(); ++c) {
        const float value = values.empty() ? 1 : values[values.size() == 1 ? 0 : c];
        out[c] = factor * value / unit;  // the order of the operations matters: see quantize.h
      }
    });
    views_.push_back(AlongAxis(view, views_.front().dims, channels));
    return views_.size() - 1;
  };
  scale_ = add(w_scale, x_scale);
  if (!bias.empty() && WholeBias(graph_, node).empty()) bias_ = add(bias, 1);
}

bool Epilogue::Remap(const std::function<std::optional<View>(const View&)>& map) {
  std::optional<std::vector<View>> mapped = Mapped(views_, map);
  if (!mapped) return false;
  views_ = *std::move(mapped);
  return true;
}

/// Applies the anchor's own epilogue to its sum.
Expr Epilogue::Finished(KernelWriter& writer, const Place& place, Expr value, Body& body) const {
  const auto load = [&](std::size_t view) { return LoadAt(writer, views_[view], place); };
  // A sum above 2^24 is rounded to 24 bits here: a relative error of at most 2^-24.
  if (value->type.dtype == DType::kI32) {
    value = kernel::Cast(std::move(value), {DType::kF32, place.lanes});
  }
  if (scale_ != 0) value = std::move(value) * load(scale_);
  if (bias_ != 0) value = std::move(value) + load(bias_);
  if (!is_fused_) return kernel::Cast(std::move(value), {made_, place.lanes});
  if (residual_ != 0) {
    value = std::move(value) + Dequantized(load(residual_), fused_.r, unit_);
  }
  value = ActivationOf(writer, fused_.activation, std::move(value),
                       slope_ != 0 ? load(slope_) : nullptr, body);
  return Quantized(std::move(value), fused_.y, unit_, fused_.y_type);
}

Expr Epilogue::ValueOf(KernelWriter& writer, const Place& place, Expr value, Body& body) const {
  const auto load = [&](std::size_t view) { return LoadAt(writer, views_[view], place); };
  if (!IsQuantized(value->type.dtype)) value = Finished(writer, place, std::move(value), body);
  for (const Step& step : steps_) {
    std::vector<Expr> operands;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      operands.push_back(i == step.flow ? value : load(step.operands[i]));
    }
    value = ElementwiseOf(writer, graph_, step.node, operands, body);
  }
  return value;
}

void Epilogue::Store(KernelWriter& writer, const Place& place, Expr value, Body& body) const {
  StoreAt(writer, out(), place, ValueOf(writer, place, std::move(value), body), body);
}

Chain::Chain(Lowering& lowering, const Group& group, View out, std::size_t axis)
    : graph_(lowering.graph()),
      anchor_(group.anchor),
      epilogue_(lowering, group, std::move(out), axis),
      operands_(OperandsOf(lowering, group.anchor, epilogue_.out().dims, axis, kNoFlow)) {}

std::vector<View> Chain::views() const {
  std::vector<View> all = epilogue_.views();
  all.insert(all.end(), operands_.begin(), operands_.end());
  return all;
}

void Chain::SetViews(std::vector<View> views) {
  const auto mine = static_cast<std::ptrdiff_t>(views.size() - operands_.size());
  operands_.assign(views.begin() + mine, views.end());
  views.resize(static_cast<std::size_t>(mine));
  epilogue_.SetViews(std::move(views));
}

bool Chain::Remap(const std::function<std::optional<View>(const View&)>& map) {
  std::optional<std::vector<View>> mapped = Mapped(views(), map);
  if (!mapped) return false;
  SetViews(*std::move(mapped));
  return true;
}

Expr Chain::At(KernelWriter& writer, const Place& place, Body& body) const {
  std::vector<Expr> values;
  for (const View& view : operands_) values.push_back(LoadAt(writer, view, place));
  return epilogue_.ValueOf(writer, place, ElementwiseOf(writer, graph_, anchor_, values, body),
                           body);
}

void Chain::Store(KernelWriter& writer, const Place& place, Body& body) const {
  StoreAt(writer, out(), place, At(writer, place, body), body);
}

}  // namespace msc::native
