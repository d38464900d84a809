#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/kernel/program.h"

namespace msc {

/// Input or output of the exported model.
struct PackagePort {
  std::string name;  ///< used only in the README
  DType dtype = DType::kF32;
  Dims dims;
  ValueId value = kNoValue;
};

/// The whole model as one program for processors that support `isa`.
struct PackageVariant {
  Isa isa;
  kernel::Program program;
};

/// A model to be written as source code by WriteCppPackage.
struct CppPackage {
  std::vector<PackagePort> inputs;
  std::vector<PackagePort> outputs;
  std::vector<PackageVariant> variants;  ///< the first one that the processor supports is used
  std::vector<Tensor> example_inputs;    ///< one per input
  std::vector<Tensor> example_outputs;   ///< outputs that MSCGym computes from them
  double tolerance = 1e-4;               ///< relative to the range of an output
};

/// Writes a folder that builds with CMake and a C++17 compiler (GCC or clang on x86-64) without
/// dependencies: model.h, a C interface; model.cc; kernels_<isa>.cc; weights_<isa>.bin; example/
/// and the test that reproduces it; README.md. Only README.md contains names of the model. Throws
/// UserError if the folder exists and is not empty, a variant does not compute every output, a
/// kernel calls a library, or a value has unknown size. Throws InternalError if a kernel is
/// invalid.
void WriteCppPackage(const CppPackage& package, const std::string& folder);

}  // namespace msc
