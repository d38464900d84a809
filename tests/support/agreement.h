#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// What a compiled graph's outputs are to be: what the reference kernels make of the inputs, and
/// how far from it a correct target may be. That is 1e-4 of an output's range, or more where a
/// change of the inputs in the last bits moves it by more. Where values are stored in 8 bits or as
/// bf16 they may round to either side: then what it moves where every stored value is a step higher
/// or lower counts, too, and on average 3 % of the range.
class Agreement {
 public:
  /// `graph` as it is to be computed: with Q/DQ and Cast nodes where layers are narrow.
  Agreement(const Graph& graph, const std::vector<Tensor>& inputs);
  /// What is wrong with the outputs that a target gave; nothing where they agree.
  [[nodiscard]] std::optional<std::string> Wrong(const std::vector<Tensor>& got) const;
  [[nodiscard]] const std::vector<Tensor>& wanted() const { return wanted_; }

 private:
  std::vector<Tensor> wanted_;
  std::vector<Tensor> nudged_;               ///< of inputs that are a little different
  std::vector<std::vector<Tensor>> shaken_;  ///< of every stored value moved; a few times, or never
};

}  // namespace msc
