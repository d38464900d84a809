#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/ops/narrow.h"

namespace msc::gym {

/// Throws UserError if --input names more files than the model has inputs.
void CheckInputCount(const std::vector<std::string>& files, std::size_t inputs);

/// Reads the array of a .npy file for an input of type `dtype`, in any shape: floats are converted
/// to the width of the input, integers to an integer type that holds them. UserError, naming the
/// file, if it cannot be converted.
[[nodiscard]] Tensor ReadInput(const std::string& file, const std::string& name, DType dtype);

/// Returns what `read` returns for 0, ..., count - 1. If it throws UserErrors, the one that this
/// throws has the messages of all, so that a user sees all wrong inputs at once.
[[nodiscard]] std::vector<Tensor> ReadEach(std::size_t count,
                                           const std::function<Tensor(std::size_t)>& read);

/// An input of a compiled model.
struct CompiledInput {
  std::string name;
  ValueType type;                    ///< all dimensions bound
  const ValueType* asked = nullptr;  ///< before binding; nullptr for an artefact
  bool batch_option = false;         ///< the command has --batch
  /// Its type in the model's file if that is narrower than `type.dtype`, as int4 is.
  const NarrowType* in_file = nullptr;
};

/// Reads an input as ReadInput does, for one run. If the shape does not fit, the UserError names
/// the option that would make it fit. UserError also for a number that its type in the model's file
/// does not have.
[[nodiscard]] Tensor ReadWholeInput(const std::string& file, const CompiledInput& input);

}  // namespace msc::gym
