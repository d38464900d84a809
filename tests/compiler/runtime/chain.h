#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/runtime/executable.h"

namespace msc {

inline constexpr std::int64_t kSize = 100;
inline constexpr std::size_t kBytes = 400;
inline constexpr std::size_t kRounded = 448;  // to the alignment of 64

inline ValueType Vector() {
  return {.dtype = DType::kF32, .shape = Shape{kSize}};
}

inline Tensor Filled(float value) {
  Tensor tensor(DType::kF32, {kSize});
  for (float& x : tensor.MutableValues<float>()) x = value;
  return tensor;
}

/// A chain x -> v0 -> v1 ... of nodes whose steps add `amount`; the last value is the output.
struct Chain {
  Graph graph;
  ValueId input{};
  std::vector<ValueId> values;
  explicit Chain(int length) {
    input = graph.AddInput("x", Vector());
    ValueId last = input;
    for (int i = 0; i < length; ++i) {
      const ValueId next = graph.AddValue("v" + std::to_string(i), Vector());
      graph.AddNode({.name = "",
                     .op = "Step",
                     .domain = "",
                     .inputs = {last},
                     .outputs = {next},
                     .captures = {},
                     .attrs = {}});
      values.push_back(next);
      last = next;
    }
    if (length > 0) graph.AddOutput(last);
  }
};

inline Step AddStep(BufferId from, BufferId to, float amount) {
  return {.name = "add",
          .target = "test",
          .nodes = {"n"},
          .precision = "f32",
          .reads = {from},
          .writes = {to},
          .run = [=](const StepContext& context) {
            std::array<float, kSize> values{};
            std::memcpy(values.data(), context.At(from), kBytes);
            for (float& x : values) x += amount;
            std::memcpy(context.At(to), values.data(), kBytes);
          }};
}

inline Executable BuildChain(const Chain& chain) {
  ExecutableBuilder builder(chain.graph);
  ValueId last = chain.input;
  for (const ValueId value : chain.values) {
    builder.AddStep(AddStep(builder.BufferOf(last), builder.BufferOf(value), 1.0F));
    last = value;
  }
  return std::move(builder).Build();
}

inline std::vector<Tensor> OneInput(float value) {
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(value));
  return inputs;
}

}  // namespace msc
