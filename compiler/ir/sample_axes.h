#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// How an input or output of a model counts samples.
enum class SampleCounting : unsigned char {
  kAlong,   ///< along an axis, by default the outermost one
  kWhole,   ///< not at all: a call takes one sample, which is the whole tensor
  kShared,  ///< not at all: every sample has the same tensor, such as a threshold (inputs only)
};

/// Where the samples of one input or output are.
struct SampleAxis {
  SampleCounting counting = SampleCounting::kAlong;
  std::int64_t axis = 0;  ///< for kAlong
  bool operator==(const SampleAxis&) const = default;
};

/// Returns "along axis 1", "one sample for each call" or "the same for all samples".
[[nodiscard]] std::string ToString(const SampleAxis& axis);

/// The axes of all inputs and outputs of a model, in the graph's order.
struct SampleLayout {
  std::vector<SampleAxis> inputs;
  std::vector<SampleAxis> outputs;
  /// Returns whether every call takes exactly one sample.
  [[nodiscard]] bool OneByOne() const;
};

/// Returns the layout that SetSampleAxis stored in `graph`; along axis 0 where nothing is stored.
[[nodiscard]] SampleLayout LayoutOf(const Graph& graph);
/// Returns where the samples of one input or output are.
[[nodiscard]] SampleAxis SampleAxisOf(const Graph& graph, ValueId value);
/// Stores where the samples of an input or output are, in the metadata of `graph`: copies and saved
/// graphs keep it, exported models and GraphHash do not.
void SetSampleAxis(Graph& graph, ValueId value, const SampleAxis& axis);
/// Prefix of the keys in Graph::metadata under which axes are stored.
inline constexpr std::string_view kSampleAxisKey = "samples.";

/// Returns `tensor` with axis `from` moved to position `to`; the others keep their order.
/// InternalError if there are no such axes.
[[nodiscard]] Tensor MoveAxis(const Tensor& tensor, std::size_t from, std::size_t to);

/// Returns the tensors for one call of the model from rows [n, ...] of each input. InternalError if
/// n is not 1 where a call takes one sample.
[[nodiscard]] std::vector<Tensor> InputsOfRows(const SampleLayout& layout,
                                               std::vector<Tensor> rows);
/// Returns the outputs of a call as rows [n, ...]. UserError if an output has no such axis.
[[nodiscard]] std::vector<Tensor> RowsOfOutputs(const SampleLayout& layout,
                                                std::vector<Tensor> outputs);

}  // namespace msc
