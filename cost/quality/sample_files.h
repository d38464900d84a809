#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/quality/dataset.h"

namespace msc::cost {

// The files that a DataConfig names, as they are: which rows, in what order, not yet normalised.

struct RawSamples {
  Tensor images;                   ///< [N, ...], channels first
  std::vector<std::int64_t> rows;  ///< of all samples, those taken; empty = a run of them
  std::optional<Tensor> labels;    ///< [N] i32, where the images brought them along
};

/// `input` is the shape of the model's input: images of a folder become what it asks for.
/// UserError as LoadDataset.
[[nodiscard]] RawSamples ReadSamples(const DataConfig& config, const Shape& input);

/// Labels of the samples that were read, N numbers of an integer type. `config.labels` is not
/// empty. UserError where there are too few of them for that.
[[nodiscard]] Tensor ReadLabels(const DataConfig& config, const RawSamples& samples);

}  // namespace msc::cost
