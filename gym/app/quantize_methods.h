#pragma once

#include "compiler/pipeline/quantize.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// Adds the options that say how activations and weights are quantized, but for those that
/// `mscgym quantize` can leave open.
void AddQuantizeMethods(CLI::App& command, QuantizeOptions& options);

}  // namespace msc::gym
