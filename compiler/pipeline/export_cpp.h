#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/cpp/isa.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// How a model is exported as C++.
struct CppExportOptions {
  /// Each gets a variant of the kernels. Instruction sets that this CPU lacks are rejected, as they
  /// cannot be checked. If empty, all that this CPU has.
  std::vector<Isa> isas;
  ShapeBindings bindings;
};

/// The result of an export.
struct CppExportSummary {
  std::vector<Isa> isas;    ///< instruction sets of the variants, best first
  std::size_t kernels = 0;  ///< number of kernels of the first variant
  /// Largest difference of any variant's outputs from those of the first, relative to their range:
  /// other instructions round differently, and an 8-bit value near the middle of two levels may get
  /// the other one.
  double spread = 0;
};

/// Exports the model under `strategy` as a source package of native kernels, whatever target the
/// strategy names. The package needs only a C++ compiler (codegen/cpp/package.h). `inputs` are the
/// example that the package's test reproduces, in the order and with the types of the graph's
/// inputs. Before writing, runs every variant on them, and compares it with the reference kernels,
/// which is slow for large models, and with the first variant. UserError, with nothing written, if
/// one differs by more than rounding explains (1e-3 of an output's range for f32, 0.05 with bf16,
/// 0.1 with int8), if native does not support a node (the message names all such operators), or if
/// the folder exists and is not empty.
[[nodiscard]] CppExportSummary ExportCpp(const Graph& canonical, const Strategy& strategy,
                                         const TargetRegistry& targets,
                                         std::span<const Tensor> inputs,
                                         const CppExportOptions& options,
                                         const std::string& folder);

}  // namespace msc
