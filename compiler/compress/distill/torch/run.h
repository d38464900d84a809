#pragma once

// Programs over libtorch's tensors. Private to this shared object, which links nothing of MSCGym:
// of other headers only data and inline functions may be used.

#include <cstddef>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "compiler/compress/distill/program.h"

namespace msc::detail {

/// One tensor for each slot of a program.
using Slots = std::vector<at::Tensor>;

inline at::Tensor& At(Slots& slots, int slot) {
  return slots[static_cast<std::size_t>(slot)];
}

/// Runs one program.
class Runner {
 public:
  /// `keep` lists slots that must exist after a run besides outputs and constants.
  /// std::invalid_argument if this object does not know an operator.
  Runner(const TrainProgram& program, std::vector<int> keep);

  [[nodiscard]] const TrainProgram& program() const { return program_; }
  /// Returns slots that contain the constants.
  [[nodiscard]] Slots NewSlots() const;
  /// Runs the program. `slots` must contain inputs and constants. Calls `after`, if given, for
  /// every computed slot; it may replace the tensor. c10::Error if shapes do not fit.
  void Run(Slots& slots, const std::function<void(int slot)>& after = {}) const;

 private:
  using Step = void (*)(const TrainOp&, Slots&);
  const TrainProgram& program_;
  std::vector<Step> steps_;
  std::vector<std::vector<int>> spent_;  ///< slots that are not read after an operator
};

/// Returns a copy of an array of floats.
[[nodiscard]] at::Tensor CopyOf(const float* data, const std::vector<std::int64_t>& dims);
/// Returns the values of a tensor, row-major.
[[nodiscard]] std::vector<float> ValuesOf(const at::Tensor& tensor);

}  // namespace msc::detail
