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
    kValue,     ///< dense buffer of a value of the graph
    kPrivate,   ///< internal to the program, alive from its first writer to its last reader
    kConstant,  ///< `constant`, computed by the compiler
  };
  Kind kind = Kind::kPrivate;
  ValueId value = kNoValue;  ///< for kValue
  std::size_t bytes = 0;     ///< size of the whole buffer
  TensorPtr constant = {};   ///< for kConstant
};

/// Indices that a run computes, which must be inside an axis before a call reads them. Kernels
/// cannot report one that is outside, and clamp it.
struct IndexCheck {
  std::size_t buffer = 0;     ///< position in Program::buffers
  DType dtype = DType::kI64;  ///< i32 or i64
  std::int64_t first = 0;     ///< element of the buffer
  std::int64_t count = 0;
  std::int64_t size = 0;  ///< of the axis: -size to size - 1 are inside
  std::string node;       ///< for the message
  std::string op;
};

/// One call of a kernel.
struct ProgramCall {
  std::size_t func = 0;
  /// Indices into Program::buffers, one per buffer of the kernel, in its order. Each scratch buffer
  /// has its own entry, with the bytes that one thread needs.
  std::vector<std::size_t> buffers;
  std::string name;                ///< for profiles
  std::vector<std::string> nodes;  ///< graph nodes that it computes; empty for a layout conversion
  std::string precision;           ///< as in Step::precision
  std::vector<IndexCheck> checks = {};
};

/// Kernels of a region as GraphToKernel makes them, and the calls in order. The memory planner
/// handles all of its buffers.
struct Program {
  std::vector<KernelFunc> funcs;
  std::vector<ProgramBuffer> buffers;
  std::vector<ProgramCall> calls;
};

}  // namespace msc::kernel
