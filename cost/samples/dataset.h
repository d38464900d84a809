#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/file.h"
#include "compiler/base/shape.h"
#include "compiler/base/within.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Where samples come from and how they become inputs of the model: (x - mean) / std, where x is
/// byte / 255 for bytes and the number itself for all other types.
struct DataConfig {
  /// "idx": IDX, plain or gzip; "npy": NumPy arrays; "npz": archives of these, FILE.npz:NAME;
  /// "csv": one line of numbers per sample, plain or gzip; "folder": images (PGM, PPM, PNG, JPEG)
  /// in it and in its subfolders; "auto": by the name, see FormOf.
  std::string format = "auto";
  std::string images;  ///< file or folder of samples, [N, ...]
  /// N class numbers; empty if there are none. The format follows from the name, else it is that of
  /// the samples. For a CSV file FILE:COLUMN; if the samples come from the same file, that column
  /// is left out of them. "folders" takes the subfolder of an image as its class, numbered by name.
  std::string labels;
  std::vector<double> mean = {0};  ///< one, or one per channel (axis 1 of [N, C, ...])
  std::vector<double> std = {1};   ///< one, or one per channel
  std::string layout = "as_is";    ///< of arrays; "hwc": channels last, converted to channels first
  bool resize = false;             ///< whether images are scaled to the model's sizes, see FitImage
  std::uint64_t shuffle = 0;       ///< 0: order of the file; else the seed of a random order
  std::int64_t first = 0;          ///< samples to skip, in that order
  std::int64_t count = 0;          ///< samples to take; 0 = all the others
  /// Whether fewer samples than `count` are accepted. Not a config key: callers set it for a
  /// default `count` that the user did not choose.
  bool or_fewer = false;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format,
          "format of the files; auto = recognised by the name, a folder as images",
          Within::OneOf({"auto", "idx", "npy", "npz", "csv", "folder"}));
    visit("images", self.images, "file or folder with the samples");
    visit("labels", self.labels,
          "class numbers: a file, FILE:COLUMN of a CSV file, or `folders` (the subfolders of the "
          "images); empty = none");
    visit("mean", self.mean, "subtracted from the values: one number, or one per channel",
          Within{-1e30, 1e30});
    visit("std", self.std, "divisor of the values: one number, or one per channel",
          Within{1e-30, 1e30});
    visit("layout", self.layout, "layout of arrays in the files; hwc = channels last",
          Within::OneOf({"as_is", "hwc"}));
    visit("resize", self.resize, "scale images to the input size of the model");
    visit("shuffle", self.shuffle, "seed of a random order of the samples; 0 = order of the files");
    visit("first", self.first, "number of samples to skip", Within{0, 2147483647});
    visit("count", self.count, "number of samples to use after that; 0 = all",
          Within{0, 2147483647});
  }
};

struct RawSamples;

/// Form of one input of a model, with the batch outermost.
struct InputForm {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

/// Samples that stay on disk. The files are read once, in their own order; the samples are
/// converted for the model and written to a ScratchFile, from which Read takes them. In memory are
/// one image or line at a time, the labels, and with `shuffle` eight bytes for each sample of the
/// file.
class DatasetSamples final : public SampleSource {
 public:
  /// Reads samples for a model with one f32 input. `input` is its shape, with the batch outermost.
  /// All samples get the dims that FitDims (sample_dims.h) finds for it. UserError naming the file,
  /// or saying how the sizes differ; damage and numbers that are not finite are also found here.
  DatasetSamples(const DataConfig& config, const Shape& input);
  /// Reads samples for a model with these inputs. One f32 input works as above. Several inputs, or
  /// one of integers, take the arrays of an archive by their names, without scaling; see ArraysOf
  /// and ConvertExactly (named_inputs.h). UserError likewise.
  DatasetSamples(const DataConfig& config, std::span<const InputForm> inputs);
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return inputs_.size(); }
  /// Returns samples as one [count, ...] per input, in the input's type. UserError if they do not
  /// all exist.
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override;
  /// Returns the class numbers (>= 0) of all samples, or none.
  [[nodiscard]] const std::vector<std::int32_t>& labels() const { return labels_; }
  /// Checks that all labels are below `classes`; 0 = number of classes unknown, no check. UserError
  /// naming file, row and label.
  void CheckLabels(std::int64_t classes) const;

 private:
  struct Input {
    ScratchFile file;
    DType dtype = DType::kF32;
    Dims sample;
  };
  void ReadImages(const DataConfig& config, const Shape& input);
  void ReadArrays(const DataConfig& config, std::span<const InputForm> inputs);
  void TakeLabels(const DataConfig& config, const RawSamples& raw);

  std::deque<Input> inputs_;  // a deque does not move its elements
  std::int64_t count_ = 0;
  std::vector<std::int32_t> labels_;
  std::string labels_path_;
  /// Rows of the labels in the file; empty = a run of rows from first_ on.
  std::vector<std::int64_t> label_rows_;
  std::int64_t first_ = 0;
};

/// Samples by which a model is judged.
struct Dataset {
  Tensor inputs;                     ///< f32 [N, ...], N >= 1
  std::vector<std::int32_t> labels;  ///< N class numbers >= 0, or none
  [[nodiscard]] std::int64_t size() const { return inputs.dims().at(0); }
};

/// The same for a model with any inputs.
struct SampleSet {
  std::vector<Tensor> inputs;        ///< [N, ...] each, N >= 1
  std::vector<std::int32_t> labels;  ///< N class numbers >= 0, or none
  [[nodiscard]] std::int64_t size() const { return inputs.at(0).dims().at(0); }
};
/// Loads all samples and labels into memory, like DatasetSamples, for a model with that many
/// `classes` (0 = unknown). UserError likewise.
[[nodiscard]] SampleSet LoadSampleSet(const DataConfig& config, std::span<const InputForm> inputs,
                                      std::int64_t classes = 0);

/// The same for a model with one f32 input.
[[nodiscard]] Dataset LoadDataset(const DataConfig& config, const Shape& input,
                                  std::int64_t classes = 0);

/// Returns the samples [first, first + count) with their labels. UserError if they do not all
/// exist.
[[nodiscard]] Dataset Slice(const Dataset& dataset, std::int64_t first, std::int64_t count);

}  // namespace msc::cost
