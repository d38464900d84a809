#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc::gym {

/// UserError where --input names more files than the model has inputs.
void CheckInputCount(const std::vector<std::string>& files, std::size_t inputs);

/// The array of a .npy file for an input of this type, whatever its shape: floats become floats of
/// the input's width, integers integers that hold them. UserError naming the file otherwise.
[[nodiscard]] Tensor ReadInput(const std::string& file, const std::string& name, DType dtype);

/// An input of a model that was compiled.
struct CompiledInput {
  std::string name;
  ValueType type;                    ///< all sizes bound
  const ValueType* asked = nullptr;  ///< before they were; nullptr of an artefact
  bool batch_option = false;         ///< whether the command has --batch
};

/// As ReadInput, for one run. The UserError about another shape says which option would make it
/// right.
[[nodiscard]] Tensor ReadWholeInput(const std::string& file, const CompiledInput& input);

}  // namespace msc::gym
