#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/quality/dataset.h"

namespace msc::cost {

// The files that a DataConfig names, as they are: which rows, in what order, not yet normalised.

/// The form of `config.format`; where that is "auto", the one that the name says: a folder, .npy,
/// .npz (also FILE.npz:NAME), .csv, also with .gz behind it, else IDX.
[[nodiscard]] std::string FormOf(const DataConfig& config);

/// `config` with the form of its file, and all samples that follow where there are fewer than
/// `count` and that will do.
[[nodiscard]] DataConfig Resolved(DataConfig config);

struct RawSamples {
  std::int64_t count = 0;          ///< N >= 1
  std::vector<std::int64_t> rows;  ///< of all samples, those taken; empty = a run of them
  std::optional<Tensor> labels;    ///< [N] i32, where the images brought them along
};

/// Hears of a sample, [1, ...], channels first, all of one size and type, at its place among those
/// taken.
using SampleVisitor = std::function<void(std::int64_t place, const Tensor& sample)>;

/// Shows every sample once, in the order of the files, with one in memory at a time. `input` is the
/// shape of the model's input: images of a folder become what it asks for. UserError as
/// LoadDataset, which may be after samples were shown.
[[nodiscard]] RawSamples ReadSamples(const DataConfig& config, const Shape& input,
                                     const SampleVisitor& visit);

/// Labels of the samples that were read, N numbers of an integer type. `config.labels` is not
/// empty. UserError where there are too few of them for that.
[[nodiscard]] Tensor ReadLabels(const DataConfig& config, const RawSamples& samples);

}  // namespace msc::cost
