#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/rng.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace msc::fuzz::detail {

/// One way to change a model. `apply` says whether the model had anything to change.
struct ModelChange {
  const char* kind;
  bool (*apply)(onnx::ModelProto& model, Rng& rng);
};

/// Of inputs, weights and the types that values are declared to have.
[[nodiscard]] std::span<const ModelChange> TypeChanges();
/// Of attributes and operators.
[[nodiscard]] std::span<const ModelChange> NodeChanges();
/// Of who reads what: cycles, missing and shared values, nodes that come and go.
[[nodiscard]] std::span<const ModelChange> WiringChanges();

/// One of `list`, which is not empty.
template <class List>
auto& OneOf(List& list, Rng& rng) {
  return *(std::begin(list) + static_cast<std::ptrdiff_t>(rng.Below(std::size(list))));
}
inline bool Chance(Rng& rng, std::uint64_t one_in) {
  return rng.Below(one_in) == 0;
}
/// A number that an author did not think of, or one near `old`.
[[nodiscard]] std::int64_t StrangeNumber(std::int64_t old, Rng& rng);
/// Of the main graph, a nested one or a function. Nullptr where there is none.
[[nodiscard]] onnx::NodeProto* AnyNode(onnx::ModelProto& model, Rng& rng);
[[nodiscard]] std::vector<std::string> ValueNames(const onnx::GraphProto& graph);
/// A name that no value of the graph has.
[[nodiscard]] std::string FreshName(const onnx::GraphProto& graph, const std::string& stem);

}  // namespace msc::fuzz::detail
