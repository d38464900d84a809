#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// Inputs of QLinearConv-10 and QLinearMatMul-10.
enum Input : std::size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

/// Constant scales and zero points, equally many.
struct Params {
  std::vector<float> scales;
  std::vector<std::int64_t> zeros;
};

std::optional<Params> ReadParams(const Graph& graph, ValueId scale, ValueId zero) {
  const TensorPtr scales = graph.constant(scale);
  if (!scales || scales->dtype() != DType::kF32 || scales->size() == 0) return std::nullopt;
  const auto values = scales->Values<float>();
  Params params{.scales = {values.begin(), values.end()}, .zeros = {0}};
  if (zero != kNoValue) {
    const TensorPtr zeros = graph.constant(zero);
    if (!zeros || zeros->size() == 0) return std::nullopt;
    const auto copy = [&](auto span) { params.zeros.assign(span.begin(), span.end()); };
    if (zeros->dtype() == DType::kI8) {
      copy(zeros->Values<std::int8_t>());
    } else if (zeros->dtype() == DType::kU8) {
      copy(zeros->Values<std::uint8_t>());
    } else {
      return std::nullopt;
    }
  }
  const std::size_t count = std::max(params.scales.size(), params.zeros.size());
  if (params.scales.size() == 1) params.scales.resize(count, params.scales.front());
  if (params.zeros.size() == 1) params.zeros.resize(count, params.zeros.front());
  if (params.scales.size() != params.zeros.size()) return std::nullopt;
  return params;
}

/// Returns the dims of scales and zero points: a single one is a scalar, because it has no axis.
Dims DimsOf(std::size_t count) {
  return count == 1 ? Dims{} : Dims{static_cast<std::int64_t>(count)};
}

Tensor ZeroTensor(const std::vector<std::int64_t>& zeros, DType dtype) {
  Tensor tensor(dtype, DimsOf(zeros.size()));
  const auto fill = [&](auto to) {
    using T = typename decltype(to)::value_type;
    for (std::size_t i = 0; i < zeros.size(); ++i) to[i] = static_cast<T>(zeros[i]);
  };
  if (dtype == DType::kI8) {
    fill(tensor.MutableValues<std::int8_t>());
  } else {
    fill(tensor.MutableValues<std::uint8_t>());
  }
  return tensor;
}

/// Converts u8 to i8 by subtracting 128. With zero points lowered by 128 as well, these are the
/// same weights in the type that kernels support.
Tensor Lowered(const Tensor& weights) {
  Tensor lowered(DType::kI8, weights.dims());
  const auto from = weights.Values<std::uint8_t>();
  const auto to = lowered.MutableValues<std::int8_t>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<std::int8_t>(static_cast<int>(from[i]) - 128);
  }
  return lowered;
}

/// Expands one node.
class Lifter {
 public:
  Lifter(Graph& graph, NodeId id) : graph_(graph), id_(id), node_(graph.node(id)) {}

  bool Run() {
    conv_ = node_.Is("QLinearConv");
    if ((!conv_ && !node_.Is("QLinearMatMul")) || !Read()) return false;
    const std::string name = node_.name;
    std::vector<ValueId> inputs = {Widened(node_.inputs[kX], x_, 0), Weights()};
    if (bias_) inputs.push_back(Bias());
    const ValueId sum = Add(conv_ ? "Conv" : "MatMul", name, std::move(inputs), node_.attrs,
                            {DType::kF32, graph_.type(node_.outputs[0]).shape});
    const NodeId nodes[] = {id_};  // NOLINT(modernize-avoid-c-arrays)
    const NodeId quantize = ReplaceChain(
        graph_, nodes,
        Node{.op = "QuantizeLinear", .inputs = {sum, node_.inputs[kYScale], node_.inputs[kYZero]}});
    // The layer keeps the name, because strategies and reports refer to it.
    graph_.RenameNode(quantize, graph_.FreeNodeName(name + "_quantize"));
    graph_.RenameNode(graph_.producer(sum), name);
    return true;
  }

 private:
  /// Returns false if a required constant is missing or has another form.
  bool Read() {
    if (IsCaptured(graph_, node_.outputs[0])) return false;
    const auto x = ReadParams(graph_, node_.inputs[kXScale], node_.inputs[kXZero]);
    const auto w = ReadParams(graph_, node_.inputs[kWScale], node_.inputs[kWZero]);
    const auto y = ReadParams(graph_, node_.inputs[kYScale], node_.inputs[kYZero]);
    if (!x || !w || !y || x->scales.size() != 1 || y->scales.size() != 1) return false;
    // Per-row or per-column scales are along the axis of the channels.
    weights_ = graph_.constant(node_.inputs[kW]);
    if (!IsStored(graph_.type(node_.inputs[kX]).dtype) ||
        !IsStored(graph_.type(node_.inputs[kW]).dtype)) {
      return false;
    }
    if (conv_ && !weights_) return false;
    if (w->scales.size() > 1) {
      if (!weights_ || weights_->dims().empty()) return false;
      axis_ = conv_ ? 0 : weights_->dims().size() - 1;
      if (weights_->dims()[axis_] != static_cast<std::int64_t>(w->scales.size())) return false;
    }
    if (conv_ && node_.HasInput(kBias)) {
      bias_ = graph_.constant(node_.inputs[kBias]);
      if (!bias_ || bias_->dtype() != DType::kI32) return false;
    }
    x_ = *x;
    w_ = *w;
    return true;
  }

  static bool IsStored(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

  ValueId Constant(const std::string& stem, Tensor tensor) {
    return graph_.AddConstant(graph_.FreeValueName(stem), std::move(tensor));
  }

  ValueId Add(const std::string& op, const std::string& stem, std::vector<ValueId> inputs,
              AttrMap attrs, ValueType type) {
    const ValueId made = graph_.AddValue(graph_.FreeValueName(stem), std::move(type));
    graph_.AddNode(Node{.name = graph_.FreeNodeName(stem),
                        .op = op,
                        .inputs = std::move(inputs),
                        .outputs = {made},
                        .attrs = std::move(attrs)},
                   id_);
    return made;
  }

  /// Adds DequantizeLinear of `value`.
  ValueId Widened(ValueId value, const Params& params, std::size_t axis) {
    const std::string stem = graph_.value(value).name;
    const DType dtype = graph_.type(value).dtype;
    Tensor scales = Tensor::From<float>(DType::kF32, DimsOf(params.scales.size()), params.scales);
    std::vector<ValueId> inputs = {value, Constant(stem + "_scale", std::move(scales))};
    if (dtype != DType::kI32) {
      inputs.push_back(Constant(stem + "_zero_point", ZeroTensor(params.zeros, dtype)));
    }
    AttrMap attrs;
    if (params.scales.size() > 1) attrs["axis"] = static_cast<std::int64_t>(axis);
    return Add("DequantizeLinear", stem + "_dequantized", std::move(inputs), std::move(attrs),
               {DType::kF32, graph_.type(value).shape});
  }

  ValueId Weights() {
    const ValueId value = node_.inputs[kW];
    if (!weights_ || weights_->dtype() != DType::kU8) return Widened(value, w_, axis_);
    Params lowered = w_;
    for (std::int64_t& zero : lowered.zeros) zero -= 128;
    return Widened(Constant(graph_.value(value).name + "_i8", Lowered(*weights_)), lowered, axis_);
  }

  /// Adds the dequantized bias. Its scale is that of the sums: input scale times weight scale.
  ValueId Bias() {
    Params steps = w_;
    for (float& scale : steps.scales) scale *= x_.scales[0];
    std::ranges::fill(steps.zeros, 0);
    return Widened(node_.inputs[kBias], steps, 0);
  }

  Graph& graph_;
  NodeId id_;
  Node node_;
  bool conv_ = false;
  Params x_;
  Params w_;
  TensorPtr weights_;  ///< nullptr if they are not constant
  TensorPtr bias_;     ///< nullptr if there is none
  std::size_t axis_ = 0;
};

}  // namespace

bool LiftIntegerLayers(Graph& graph) {
  return Sweep(graph, [&](NodeId id) { return Lifter(graph, id).Run(); });
}

}  // namespace msc
