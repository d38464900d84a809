#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A graph to export at every operator set, and what it is run on.
struct SetCase {
  std::string label;
  Graph graph;
  std::vector<Tensor> inputs;
  double tolerance = 1e-3;      ///< of what other runtimes compute, relative and absolute
  std::string odd_in_ort = "";  ///< why ONNX Runtime does not compute what ONNX says; mostly empty
};

/// Returns operators whose older or newer forms want what set 17 does not, one a graph.
[[nodiscard]] std::vector<SetCase> OtherForms();

/// Returns those, and all of tests/contract/op_cases.h that are of ONNX: the first operand is an
/// input, as most models have it, the others are constants, as older sets want parameters. Of
/// Dropout without its mask, which is of other values in other sets. Strings have no bytes that
/// other runtimes could be given.
[[nodiscard]] std::vector<SetCase> AllSetCases();

}  // namespace msc
