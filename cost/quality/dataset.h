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

/// Where samples come from and how they become what the model takes: (x - mean) / std, where bytes
/// count as x = byte / 255 and other numbers as they are.
struct DataConfig {
  /// "idx": IDX, plain or gzip; "npy": NumPy arrays; "npz": archives of these, FILE.npz:NAME;
  /// "csv": a line of numbers a sample, plain or gzip; "folder": images (PGM, PPM, PNG, JPEG) below
  /// it; "auto": what the name says, see FormOf.
  std::string format = "auto";
  std::string images;  ///< file or folder of samples, [N, ...]
  /// N class numbers; empty where there are none. Of the form that the name says, else of that of
  /// the samples. FILE:COLUMN of a CSV file, a column that is left out of the samples if the
  /// file is the same; "folders" where the image's subfolder, numbered by name, says it.
  std::string labels;
  std::vector<double> mean = {0};  ///< one, or one a channel (axis 1 of [N, C, ...])
  std::vector<double> std = {1};   ///< likewise
  std::string layout = "as_is";    ///< of arrays; "hwc": channels last, turned to channels first
  bool resize = false;             ///< images are scaled to the model's sizes, see FitImage
  std::uint64_t shuffle = 0;       ///< 0: in the order of the file; else the seed of another order
  std::int64_t first = 0;          ///< samples to pass over, in that order
  std::int64_t count = 0;          ///< samples to take; 0 = all that follow
  /// Of `count`: where there are fewer, all that follow will do. No key: callers say it whose
  /// number nobody gave.
  bool or_fewer = false;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "form of the files; auto: what their names end in",
          Within::OneOf({"auto", "idx", "npy", "npz", "csv", "folder"}));
    visit("images", self.images, "file or folder of samples");
    visit("labels", self.labels,
          "class numbers: a file, FILE:COLUMN of a CSV file, or folders; empty = none");
    visit("mean", self.mean, "subtracted, one or one a channel", Within{-1e30, 1e30});
    visit("std", self.std, "divided by, one or one a channel", Within{1e-30, 1e30});
    visit("layout", self.layout, "hwc: the files have channels last",
          Within::OneOf({"as_is", "hwc"}));
    visit("resize", self.resize, "scale images of other sizes");
    visit("shuffle", self.shuffle, "seed of another order of samples; 0 = as they are");
    visit("first", self.first, "samples to pass over", Within{0, 2147483647});
    visit("count", self.count, "samples to take; 0 = all", Within{0, 2147483647});
  }
};

struct RawSamples;

/// What one input of a model takes, the batch outermost.
struct InputForm {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

/// Samples that stay out of memory: what the files hold, whatever their form, is read once, in the
/// order of the file, and kept as the model takes it in a ScratchFile, from where it is read as it
/// is asked for. In memory are an image or line at a time, the labels, and with `shuffle` eight
/// bytes for each sample of the file.
class DatasetSamples final : public SampleSource {
 public:
  /// Every sample gets the dims that `input`, a model's input with the batch outermost, asks for:
  /// FitDims (sample_dims.h) says what fits. UserError naming the
  /// file, or saying how the sizes differ; damage and numbers that are not finite are found here.
  DatasetSamples(const DataConfig& config, const Shape& input);
  /// For a model with these inputs. One of f32 is as above; several, or one of integers, take the
  /// arrays of an archive by their names, as they are: ArraysOf and ConvertExactly
  /// (named_inputs.h) say what fits. UserError likewise.
  DatasetSamples(const DataConfig& config, std::span<const InputForm> inputs);
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return inputs_.size(); }
  /// [count, ...] of each input, of its type.
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override;
  /// Class numbers >= 0 of all samples, or none.
  [[nodiscard]] const std::vector<std::int32_t>& labels() const { return labels_; }
  /// UserError naming file, row and label where one is no class of a model with so many; 0 = it is
  /// not known with how many.
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

  std::deque<Input> inputs_;  // which do not move
  std::int64_t count_ = 0;
  std::vector<std::int32_t> labels_;
  std::string labels_path_;
  std::vector<std::int64_t> label_rows_;  ///< in the file; empty = those from first_ on
  std::int64_t first_ = 0;
};

/// Samples a model is judged by.
struct Dataset {
  Tensor inputs;                     ///< f32 [N, ...], N >= 1
  std::vector<std::int32_t> labels;  ///< N class numbers >= 0, or none
  [[nodiscard]] std::int64_t size() const { return inputs.dims().at(0); }
};

/// The same of a model with any inputs.
struct SampleSet {
  std::vector<Tensor> inputs;        ///< [N, ...] each, N >= 1
  std::vector<std::int32_t> labels;  ///< N class numbers >= 0, or none
  [[nodiscard]] std::int64_t size() const { return inputs.at(0).dims().at(0); }
};
/// Samples and labels whole, as DatasetSamples has them, for a model of so many `classes` (0 = not
/// known). UserError likewise.
[[nodiscard]] SampleSet LoadSampleSet(const DataConfig& config, std::span<const InputForm> inputs,
                                      std::int64_t classes = 0);

/// Samples and labels whole, as DatasetSamples has them, for a model of so many `classes` (0 = not
/// known). UserError likewise.
[[nodiscard]] Dataset LoadDataset(const DataConfig& config, const Shape& input,
                                  std::int64_t classes = 0);

/// Samples [first, first + count) with their labels. UserError if they are not all there.
[[nodiscard]] Dataset Slice(const Dataset& dataset, std::int64_t first, std::int64_t count);

}  // namespace msc::cost
