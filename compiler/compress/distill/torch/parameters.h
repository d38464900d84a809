#pragma once

// The trained constants of a program and their optimizer. Private to this shared object.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "compiler/compress/distill/trainer.h"

namespace msc::detail {

struct Parameter {
  ParameterKind kind = ParameterKind::kWeight;
  int slot = 0;       ///< from which the program reads it
  at::Tensor leaf;    ///< what is trained: the weight, or the logarithm of a step
  at::Tensor mask;    ///< of a weight whose zeros stay; else undefined
  at::Tensor first;   ///< momentum, or Adam's first moment
  at::Tensor second;  ///< Adam's second moment; else undefined
  double factor = 1;  ///< of its gradient

  /// Returns what the program reads if the leaf is `trained`.
  [[nodiscard]] at::Tensor Value(const at::Tensor& trained) const;
};

/// Returns the parameters of a program as `state` has them; as the program has them if `state` has
/// none.
[[nodiscard]] std::vector<Parameter> MakeParameters(const TrainProgram& program,
                                                    const TrainSettings& settings,
                                                    const TrainState& state);

/// Moves the leaves by their gradients, which it takes away. `step` counts from 1.
void Update(const TrainSettings& settings, std::int64_t step, double rate,
            std::vector<Parameter>& parameters);

void Save(const std::vector<Parameter>& parameters, TrainState& state);

}  // namespace msc::detail
