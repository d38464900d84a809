#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// What a value of a graph is while the interpreter runs it: a tensor, a sequence of tensors, or an
/// optional that holds either. A copy shares the tensors.
/// Source: ONNX IR specification, Types.
struct RunValue {
  Container container = Container::kTensor;
  DType dtype = DType::kUndefined;  ///< of the elements, which an empty sequence has too
  bool present = true;              ///< false for an optional that holds nothing
  /// The one tensor, or those of the sequence. Empty if not `present`.
  std::vector<TensorPtr> tensors = {};
};

[[nodiscard]] RunValue RunValueOf(TensorPtr tensor);
[[nodiscard]] inline RunValue RunValueOf(Tensor tensor) {
  return RunValueOf(std::make_shared<const Tensor>(std::move(tensor)));
}
[[nodiscard]] RunValue SequenceOf(DType dtype, std::vector<TensorPtr> tensors);

/// Returns what the value holds, outside an optional. Throws UserError if it holds nothing.
[[nodiscard]] RunValue Held(const RunValue& value);
/// Returns the tensor, or nullptr for a sequence or an optional that holds no tensor.
[[nodiscard]] const Tensor* TensorIn(const RunValue& value);
/// Returns the type: of a tensor with its dims, of others without.
[[nodiscard]] ValueType TypeOf(const RunValue& value);

}  // namespace msc
