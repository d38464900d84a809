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

/// An input or output of the exported model.
struct PackagePort {
  std::string name;  ///< for the README alone
  DType dtype = DType::kF32;
  Dims dims;
  ValueId value = kNoValue;
};

/// The whole model as one program, for processors that have `isa`.
struct PackageVariant {
  Isa isa;
  kernel::Program program;
};

/// A model as source: what WriteCppPackage writes down.
struct CppPackage {
  std::vector<PackagePort> inputs;
  std::vector<PackagePort> outputs;
  std::vector<PackageVariant> variants;  ///< the first that the processor can run is taken
  std::vector<Tensor> example_inputs;    ///< one an input
  std::vector<Tensor> example_outputs;   ///< what we compute of them
  double tolerance = 1e-4;               ///< of the example's outputs, of their range
};

/// Writes a folder that builds without any dependency by CMake and a C++17 compiler (GCC or clang
/// on x86-64): model.h, a C interface; model.cc; kernels_<isa>.cc; weights_<isa>.bin; example/ and
/// the test that reproduces it; README.md. Nothing of it but README.md holds a name of the model.
/// UserError if the folder is there and not empty, a variant does not compute every output, a
/// kernel calls a library, or a buffer of a value of unknown size is in it. InternalError if a
/// kernel is unsound.
void WriteCppPackage(const CppPackage& package, const std::string& folder);

}  // namespace msc
