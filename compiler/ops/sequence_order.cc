#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators that move the steps of a batch of sequences, each by a number of its own. They accept
// all types, including strings. Source: ONNX operator pages ReverseSequence-10, TensorScatter-24.

namespace msc {
namespace {

/// Returns the product of dims[begin, end).
std::int64_t CountOf(const Dims& dims, std::size_t begin, std::size_t end) {
  return ElementCount(std::span(dims).subspan(begin, end - begin));
}

/// Rejects an input that is not a list of i64, one for each sequence.
void RequireOneEach(const InferInput& in, std::size_t index, const Dim& batch) {
  RequireType(in, index, {DType::kI64});
  const Shape* list = ShapeOf(in, index);
  if (list == nullptr) return;
  if (list->size() != 1) {
    RejectNode(*in.node, "input " + std::to_string(index) + " of shape " + ToString(*list) +
                             " must be a list");
  }
  (void)MergeDims(*in.node, batch, list->front());
}

std::int64_t TimeAxis(const Node& node) {
  const std::int64_t time = AttrOr(node, "time_axis", std::int64_t{0});
  const std::int64_t batch = AttrOr(node, "batch_axis", std::int64_t{1});
  if ((time != 0 && time != 1) || batch != 1 - time) {
    RejectNode(node, "attributes 'time_axis' and 'batch_axis' must be 0 and 1, or 1 and 0");
  }
  return time;
}

std::vector<ValueType> InferReverse(const InferInput& in) {
  const std::int64_t time = TimeAxis(*in.node);
  RequireRank(in, 0, 2);
  const Shape* x = ShapeOf(in, 0);
  RequireOneEach(in, 1, x == nullptr ? Dim() : (*x)[static_cast<std::size_t>(1 - time)]);
  return SameAsFirst(in);
}

std::vector<Tensor> EvalReverse(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferReverse, node, inputs);
  const Dims& dims = inputs[0]->dims();
  const bool time_first = TimeAxis(node) == 0;
  const std::int64_t steps = dims[time_first ? 0 : 1];
  const std::int64_t batch = dims[time_first ? 1 : 0];
  const std::int64_t each = CountOf(dims, 2, dims.size());
  const auto lengths = inputs[1]->Values<std::int64_t>();
  if (outputs[0].size() == 0) return outputs;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    if (length < 0 || length > steps) {
      RejectNode(node, "sequence length " + std::to_string(length) + " must be between 0 and " +
                           std::to_string(steps));
    }
    const auto offset = [&](std::int64_t t) {
      return (time_first ? t * batch + b : b * steps + t) * each;
    };
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t from = t < length ? length - 1 - t : t;
      CopyElements(*inputs[0], outputs[0],
                   {.from_offset = offset(from), .to_offset = offset(t), .count = each});
    }
  }
  return outputs;
}

// TensorScatter (cache, update, first steps?): writes the steps of an update into a cache.

bool IsCircular(const Node& node) {
  const auto mode = AttrOr(node, "mode", std::string("linear"));
  if (mode != "linear" && mode != "circular") {
    RejectNode(node, "attribute 'mode' cannot be '" + mode + "'");
  }
  return mode == "circular";
}

std::size_t StepAxis(const Node& node, std::size_t rank) {
  const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{-2}), rank);
  if (axis == 0) RejectNode(node, "the axis of steps cannot be that of the batch");
  return axis;
}

std::vector<ValueType> InferScatter(const InferInput& in) {
  const Node& node = *in.node;
  (void)IsCircular(node);
  RequireSameType(in, 0, 1);
  const Shape* cache = ShapeOf(in, 0);
  const Shape* update = ShapeOf(in, 1);
  if (cache != nullptr) {
    const std::size_t axis = StepAxis(node, cache->size());
    if (update != nullptr) {
      bool fits = update->size() == cache->size();
      for (std::size_t i = 0; fits && i < cache->size(); ++i) {
        const Dim& a = (*cache)[i];
        const Dim& b = (*update)[i];
        if (!a.known() || !b.known()) continue;
        fits = i == axis ? b.size() <= a.size() : b.size() == a.size();
      }
      if (!fits) {
        RejectNode(node, "the update " + ToString(*update) + " does not fit the cache " +
                             ToString(*cache));
      }
    }
  }
  RequireOneEach(in, 2, cache == nullptr ? Dim() : cache->front());
  return SameAsFirst(in);
}

/// Returns the step that the first one of an update overwrites.
std::int64_t FirstStep(const Node& node, std::int64_t given, std::int64_t added,
                       std::int64_t steps) {
  if (IsCircular(node)) return steps == 0 ? 0 : (given % steps + steps) % steps;
  if (given < 0 || given > steps - added) {
    RejectNode(node, std::to_string(added) + " steps from step " + std::to_string(given) +
                         " on do not fit a cache of " + std::to_string(steps));
  }
  return given;
}

std::vector<Tensor> EvalScatter(const Node& node, EvalInputs inputs) {
  (void)InferFor(InferScatter, node, inputs);
  std::vector<Tensor> outputs = {*inputs[0]};
  const Dims& dims = inputs[0]->dims();
  const std::size_t axis = StepAxis(node, dims.size());
  const std::int64_t steps = dims[axis];
  const std::int64_t added = inputs[1]->dims()[axis];
  const std::int64_t each = CountOf(dims, axis + 1, dims.size());
  const std::int64_t parts = CountOf(dims, 1, axis);  // of a sample
  const Tensor* firsts = InputAt(inputs, 2);
  if (inputs[1]->size() == 0) return outputs;
  for (std::int64_t i = 0; i < dims[0] * parts; ++i) {
    const auto sample = static_cast<std::size_t>(i / parts);
    const std::int64_t given = firsts == nullptr ? 0 : firsts->Values<std::int64_t>()[sample];
    const std::int64_t first = FirstStep(node, given, added, steps);
    for (std::int64_t t = 0; t < added; ++t) {
      CopyElements(*inputs[1], outputs[0],
                   {.from_offset = (i * added + t) * each,
                    .to_offset = (i * steps + (first + t) % steps) * each,
                    .count = each});
    }
  }
  return outputs;
}

}  // namespace

void RegisterSequenceOrderOps(OpRegistry& ops) {
  ops.Add({.name = "ReverseSequence",
           .inputs = {2, 2},
           .attrs = {{.name = "batch_axis", .otherwise = std::int64_t{1}},
                     {.name = "time_axis", .otherwise = std::int64_t{0}}},
           .infer = InferReverse,
           .eval = EvalReverse});
  ops.Add({.name = "TensorScatter",
           .inputs = {2, 3},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{-2}},
                     {.name = "mode", .otherwise = std::string("linear")}},
           .infer = InferScatter,
           .eval = EvalScatter});
}

}  // namespace msc
