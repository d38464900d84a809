#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// Returns rows [first, first + count) of the outermost dimension. UserError if some of them do not
/// exist.
[[nodiscard]] Tensor Rows(const Tensor& tensor, std::int64_t first, std::int64_t count);

/// Joins the rows of batches of some values: turns [batch][value] into [value]. All parts of a
/// value have one type, and the same dims but for the outermost one.
[[nodiscard]] std::vector<Tensor> JoinBatches(const std::vector<std::vector<Tensor>>& batches);

/// Returns the number of samples of a call if the model fixes it: the size of the axis of samples
/// (sample_axes.h) of the first input that has one, or 1 if a call takes one sample. UserError if
/// there are no inputs.
[[nodiscard]] std::optional<std::int64_t> FixedBatch(const Graph& graph);

/// Returns the number of samples that a compiled graph takes at a time: the number that the model
/// fixes, else `wanted`. UserError if there are no inputs.
[[nodiscard]] std::int64_t BatchSize(const Graph& graph, std::int64_t wanted);

/// Returns the largest batch size from `most` / 2 to `most` that divides `count`; if there is none,
/// returns `most`, and the last batch is smaller. All sizes are at least 1.
[[nodiscard]] std::int64_t EvenBatch(std::int64_t count, std::int64_t most);

/// Binds the symbolic axis of samples of every input to `batch`. Empty if none is symbolic.
[[nodiscard]] ShapeBindings BatchBindings(const Graph& graph, std::int64_t batch);

/// Returns which sizes of inputs neither the model nor `bindings` give, and the option that gives
/// them: "input 'x' f32[batch,3,H,W] leaves 'H' and 'W' open; give all of its sizes by --shape
/// x=1x3xHxW". Empty if there are none. A size is never assumed, as a model of another size is
/// another model.
[[nodiscard]] std::string OpenSizesText(const Graph& graph, const ShapeBindings& bindings);

/// Binds all symbolic dimensions of the inputs of `graph` to the sizes that `inputs` have.
[[nodiscard]] ShapeBindings BindingsFor(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace msc
