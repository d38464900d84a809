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

struct CppExportOptions {
  /// One variant of the kernels each; those that this CPU cannot run cannot be checked here, and
  /// are refused. Empty: all that it can.
  std::vector<Isa> isas;
  ShapeBindings bindings;
};

struct CppExportSummary {
  std::vector<Isa> isas;    ///< of the variants, best first
  std::size_t kernels = 0;  ///< of the first variant
  /// Largest difference of any variant's outputs from those of the first, relative to their range:
  /// other instructions round otherwise, and an 8-bit value on an edge falls to the other side.
  double spread = 0;
};

/// The model under `strategy`, whatever target that names, as a source package of native kernels
/// that needs nothing but a C++ compiler (codegen/cpp/package.h). `inputs` are the example that its
/// test reproduces, in the order and with the types of the graph's inputs. Every variant is run on
/// them first and compared with the reference kernels, which is slow for large models, and with the
/// first variant. UserError, and nothing written, if one differs by more than rounding explains
/// (1e-3 of an output's range for f32, 0.05 with bf16, 0.1 with int8), if native cannot run a node,
/// naming all such operators, or if the folder is there and not empty.
[[nodiscard]] CppExportSummary ExportCpp(const Graph& canonical, const Strategy& strategy,
                                         const TargetRegistry& targets,
                                         std::span<const Tensor> inputs,
                                         const CppExportOptions& options,
                                         const std::string& folder);

}  // namespace msc
