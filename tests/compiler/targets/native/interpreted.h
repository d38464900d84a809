#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/kernel/program.h"
#include "compiler/kernel/verify.h"
#include "compiler/targets/native/native.h"
#include "compiler/targets/target.h"
#include "tests/support/kernel_eval.h"

namespace msc::native {

/// Returns the program of all nodes of a graph with types. The baseline's four lanes show all that
/// sixteen do.
inline kernel::Program ProgramOf(const Graph& graph,
                                 const std::string& target = "native:isa=baseline") {
  TargetRegistry targets;
  targets.Add(NativeKind());
  return targets.Get(target).GraphToKernel({.graph = &graph, .nodes = graph.order()}, {}).value();
}

/// Returns normally distributed f32 inputs.
inline std::vector<Tensor> RandomFloats(const Graph& graph) {
  Rng rng(5);
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    Tensor& tensor = inputs.emplace_back(DType::kF32, *StaticDims(*graph.type(input).shape));
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return inputs;
}

/// What the calls of a program make of the inputs; memory starts full of NaN. `functions` are those
/// that its kernels call.
inline std::vector<Tensor> Interpreted(const kernel::Program& program, const Graph& graph,
                                       const std::vector<Tensor>& inputs,
                                       std::span<const kernel::LibraryFunction> functions = {}) {
  using Kind = kernel::ProgramBuffer::Kind;
  std::vector<std::vector<std::byte>> memory;
  for (const kernel::ProgramBuffer& buffer : program.buffers) {
    std::vector<std::byte>& bytes = memory.emplace_back(buffer.bytes, std::byte{0xff});
    std::span<const std::byte> from;
    if (buffer.kind == Kind::kConstant) from = buffer.constant->Raw();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_input = buffer.kind == Kind::kValue && buffer.value == graph.inputs()[i];
      if (is_input) from = inputs[i].Raw();
    }
    std::copy(from.begin(), from.end(), bytes.begin());
  }
  for (const kernel::ProgramCall& call : program.calls) {
    std::vector<std::span<std::byte>> spans;
    for (const std::size_t buffer : call.buffers) spans.emplace_back(memory[buffer]);
    const kernel::KernelFunc& func = program.funcs[call.func];
    EXPECT_EQ(kernel::Verify(func), std::vector<std::string>());
    kernel::Evaluate(func, spans, 0, func.parallel_extent(), functions);
  }
  std::vector<Tensor> outputs;
  for (const ValueId output : graph.outputs()) {
    // The last that stands for it: a kernel that was not made in the end may have asked for one.
    for (std::size_t i = program.buffers.size(); i-- > 0;) {
      if (program.buffers[i].kind != Kind::kValue || program.buffers[i].value != output) continue;
      Tensor& tensor =
          outputs.emplace_back(graph.type(output).dtype, *StaticDims(*graph.type(output).shape));
      std::copy_n(memory[i].begin(), tensor.bytes(), tensor.MutableRaw().begin());
      break;
    }
  }
  return outputs;
}

}  // namespace msc::native
