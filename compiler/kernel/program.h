#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/kernel/func.h"

namespace msc::kernel {

/// Memory that the calls of a program share.
struct ProgramBuffer {
  enum class Kind : std::uint8_t {
    kValue,     ///< the dense buffer of a value of the graph
    kPrivate,   ///< inside the program, from its first writer to its last reader
    kConstant,  ///< `constant`, made while compiling
  };
  Kind kind = Kind::kPrivate;
  ValueId value = kNoValue;  ///< kValue
  std::size_t bytes = 0;     ///< all of it
  TensorPtr constant = {};   ///< kConstant
};

/// One run of a kernel.
struct ProgramCall {
  std::size_t func = 0;
  /// Positions in Program::buffers, one a buffer of the kernel, in its order. Scratch has its own
  /// entry, with the bytes that one thread needs.
  std::vector<std::size_t> buffers;
  std::string name;                ///< for profiles
  std::vector<std::string> nodes;  ///< graph nodes it computes; empty for a change of layout
  std::string precision;           ///< as Step::precision
};

/// What GraphToKernel makes of a region: kernels, and the order in which they are called on what.
/// The memory planner sees every buffer of it.
struct Program {
  std::vector<KernelFunc> funcs;
  std::vector<ProgramBuffer> buffers;
  std::vector<ProgramCall> calls;
};

}  // namespace msc::kernel
