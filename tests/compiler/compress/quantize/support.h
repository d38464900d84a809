#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compiler/compress/quantize/quantize.h"
#include "tests/compiler/passes/support.h"

namespace msc::testing {

/// A plan with all layers in one precision, without scales.
inline QuantizePlan Everything(const Graph& graph, Precision precision) {
  QuantizePlan plan;
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    plan.layers[layer.name] = precision;
  }
  return plan;
}

/// Scales from the reference kernels on a few random batches.
inline std::map<std::string, TensorScale> Calibrate(const Graph& graph,
                                                    const CalibrationOptions& options = {}) {
  Calibrator calibrator(graph);
  const Graph tapped = WithOutputs(graph, calibrator.tensors());
  for (const std::uint64_t seed : {10U, 11U, 12U}) {
    const std::vector<Tensor> inputs = RandomInputs(tapped, seed);
    const std::vector<Tensor> outputs = Interpret(tapped, inputs);
    for (std::size_t i = 0; i < tapped.inputs().size(); ++i) {
      const std::string& name = tapped.value(tapped.inputs()[i]).name;
      const auto& names = calibrator.tensors();
      if (tapped.IsOutput(tapped.inputs()[i]) ||
          std::find(names.begin(), names.end(), name) == names.end()) {
        continue;
      }
      calibrator.Observe(name, inputs[i].Values<float>());
    }
    for (std::size_t i = 0; i < tapped.outputs().size(); ++i) {
      const std::string& name = tapped.value(tapped.outputs()[i]).name;
      const auto& names = calibrator.tensors();
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      calibrator.Observe(name, outputs[i].Values<float>());
    }
  }
  return calibrator.Scales(options);
}

}  // namespace msc::testing
