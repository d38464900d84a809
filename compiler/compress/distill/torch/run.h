#pragma once

// Programs over libtorch's tensors. Private to this shared object, which links nothing of ours: of
// other headers only data and inline functions may be used.

#include <cstddef>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "compiler/compress/distill/program.h"

namespace msc::detail {

/// One tensor a slot of a program.
using Slots = std::vector<at::Tensor>;

class Runner {
 public:
  /// `keep`: slots to be there after a run besides outputs and constants. std::invalid_argument for
  /// an operator that this object does not know.
  Runner(const TrainProgram& program, std::vector<int> keep);

  [[nodiscard]] const TrainProgram& program() const { return program_; }
  /// Slots with the constants in them.
  [[nodiscard]] Slots NewSlots() const;
  /// Inputs and constants are in `slots`. `after`, where given, sees every slot that was computed
  /// and may put something else there. c10::Error where shapes do not fit.
  void Run(Slots& slots, const std::function<void(int slot)>& after = {}) const;

 private:
  using Step = void (*)(const TrainOp&, Slots&);
  const TrainProgram& program_;
  std::vector<Step> steps_;
  std::vector<std::vector<int>> spent_;  ///< slots that nobody reads after an operator
};

/// A copy of an array of floats.
[[nodiscard]] at::Tensor CopyOf(const float* data, const std::vector<std::int64_t>& dims);
/// Its values, row-major.
[[nodiscard]] std::vector<float> ValuesOf(const at::Tensor& tensor);

}  // namespace msc::detail
