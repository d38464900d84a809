#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/samples/data_config.h"
#include "cost/samples/one_sample.h"
#include "cost/samples/sample_dims.h"

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
  std::optional<Tensor> labels;    ///< [N] i32, if the samples come with classes
  std::vector<std::string> files;  ///< of a folder, one for each sample
  std::vector<Picture> pictures;   ///< of a folder of images, one for each sample
  Dims dims;                       ///< of one sample of an array, as it is in the file
  /// Returns the number of a sample among all, from 0; `config` is that of the samples.
  [[nodiscard]] std::int64_t RowOf(std::int64_t sample, const DataConfig& config) const {
    return rows.empty() ? config.first + sample : rows.at(static_cast<std::size_t>(sample));
  }
};

/// A sample as it is read; valid during a call of the visitor.
struct RawSample {
  const Tensor& values;    ///< [1, ...], with channels first unless the model has them last
  std::int64_t place = 0;  ///< among those taken
  const std::string& file;
  std::int64_t row = 0;  ///< among all samples, from 0
};
/// Returns "'images/7.png' (sample 12, counted from 0)", for errors.
[[nodiscard]] std::string NameOf(const RawSample& sample);

using SampleVisitor = std::function<void(const RawSample& sample)>;

/// Passes every sample to `visit` once, in the order of the files, with one in memory at a time.
/// Images and audio of a folder get the sizes of `input`, where it has any. UserError as
/// LoadDataset, possibly after some samples were visited.
[[nodiscard]] RawSamples ReadSamples(const DataConfig& config, const InputForm& input,
                                     const SampleVisitor& visit);

/// Returns the dims of the first sample of `config`; nothing for images and audio, which take those
/// of the model.
[[nodiscard]] std::optional<Dims> FirstDims(const DataConfig& config, const std::string& input);

/// Returns the rows of the array `file` (or FILE:COLUMN) that belong to the samples that were read:
/// [N, ...]; those of their subfolders for kLabelFolders. UserError if there are fewer labels than
/// samples.
[[nodiscard]] Tensor ReadLabels(const DataConfig& config, const std::string& file,
                                const RawSamples& samples);

/// Returns whether labels are FILE:COLUMN of a CSV file.
[[nodiscard]] bool IsCsvColumn(const std::string& labels);

/// Splits "FILE:COLUMN"; the column is empty without a colon.
[[nodiscard]] std::pair<std::string, std::string> SplitColumn(const std::string& text);

}  // namespace msc::cost
