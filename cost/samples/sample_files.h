#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/samples/dataset.h"

namespace msc::cost {

// Reads the files that a DataConfig names, without normalisation: which rows, and in what order.

/// Returns the format of the samples: `config.format`, or for "auto" the format that the name
/// shows: a folder, .npy, .npz (also FILE.npz:NAME), .csv (also .csv.gz), otherwise IDX.
[[nodiscard]] std::string FormOf(const DataConfig& config);

/// Returns `config` with the format of its files. With `or_fewer`, `count` becomes 0 (all) if the
/// files hold fewer samples.
[[nodiscard]] DataConfig ResolveFormat(DataConfig config);

struct RawSamples {
  std::int64_t count = 0;          ///< N >= 1
  std::vector<std::int64_t> rows;  ///< rows taken, among all samples; empty = one run of rows
  std::optional<Tensor> labels;    ///< [N] i32, if the images come with classes
};

/// Receives a sample [1, ...] with channels first, and its position among those taken. All samples
/// have the same sizes and type.
using SampleVisitor = std::function<void(std::int64_t place, const Tensor& sample)>;

/// Passes every sample to `visit` once, in the order of the files, with one in memory at a time.
/// `input` is the shape of the model's input; images of a folder are scaled to it. UserError as
/// LoadDataset, possibly after some samples were visited.
[[nodiscard]] RawSamples ReadSamples(const DataConfig& config, const Shape& input,
                                     const SampleVisitor& visit);

/// Returns the labels of the samples that were read: N numbers of an integer type. Requires a
/// `config.labels` that is not empty. UserError if there are fewer labels than samples.
[[nodiscard]] Tensor ReadLabels(const DataConfig& config, const RawSamples& samples);

}  // namespace msc::cost
