#include "compiler/compress/quantize/qdq.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compiler/compress/quantize/weights.h"

namespace msc {
namespace {

/// Returns the node behind the producer of `value`.
NodeId PlaceAfter(const Graph& graph, ValueId value) {
  const auto& order = graph.order();
  const auto producer = std::find(order.begin(), order.end(), graph.producer(value));
  const auto next = producer == order.end() ? order.begin() : producer + 1;
  return next == order.end() ? kNoNode : *next;
}

/// Clips `value` to the levels of `scale`.
ValueId AddClip(ValueId value, const TensorScale& scale, Graph& graph) {
  const std::string stem = graph.value(value).name;
  const Levels levels = LevelsOf(scale);
  const auto bound = [&](std::int64_t level, const char* suffix) {
    const float at = static_cast<float>(level - scale.zero_point) * static_cast<float>(scale.scale);
    return AddNamedConstant(graph, stem, suffix, Tensor::From<float>(DType::kF32, {}, {&at, 1}));
  };
  const ValueId least = bound(levels.least, "_least");
  const ValueId most = bound(levels.most, "_most");
  return AddBehind(stem + "_cut", "Clip", {value, least, most}, DType::kF32, graph);
}

}  // namespace

Levels LevelsOf(const TensorScale& scale) {
  const std::int64_t count = std::int64_t{1} << scale.bits;
  const std::int64_t least = scale.dtype == "u8" ? 0 : -count / 2;
  return {least, least + count - 1};
}

ValueId AddBehind(const std::string& name, const char* op, std::vector<ValueId> inputs, DType dtype,
                  Graph& graph, AttrMap attrs) {
  const NodeId place = PlaceAfter(graph, inputs[0]);
  ValueType type = graph.type(inputs[0]);
  type.dtype = dtype;
  const ValueId made = graph.AddValue(graph.FreeValueName(name), std::move(type));
  graph.AddNode({.name = graph.FreeNodeName(name),
                 .op = op,
                 .domain = "",
                 .inputs = std::move(inputs),
                 .outputs = {made},
                 .captures = {},
                 .attrs = std::move(attrs)},
                place);
  return made;
}

ValueId AddQuantization(ValueId value, const TensorScale& scale, Graph& graph) {
  const std::string stem = graph.value(value).name;
  const DType dtype = scale.dtype == "u8" ? DType::kU8 : DType::kI8;
  const auto step = static_cast<float>(scale.scale);
  Tensor zero(dtype, {});
  zero.MutableRaw().front() = static_cast<std::byte>(scale.zero_point);
  const ValueId s =
      AddNamedConstant(graph, stem, "_scale", Tensor::From<float>(DType::kF32, {}, {&step, 1}));
  const ValueId z = AddNamedConstant(graph, stem, "_zero_point", std::move(zero));
  const ValueId cut = scale.bits == 8 ? value : AddClip(value, scale, graph);
  const ValueId q = AddBehind(stem + "_quantized", "QuantizeLinear", {cut, s, z}, dtype, graph);
  return AddBehind(stem + "_dequantized", "DequantizeLinear", {q, s, z}, DType::kF32, graph);
}

}  // namespace msc
