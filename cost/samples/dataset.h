#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/file.h"
#include "compiler/base/shape.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"
#include "cost/model/labels.h"
#include "cost/samples/data_config.h"
#include "cost/samples/input_summary.h"
#include "cost/samples/sample_dims.h"

namespace msc::cost {

struct RawSample;
struct RawSamples;

/// Samples that stay on disk. The files are read once, in their own order; the samples are
/// converted for the model and written to a ScratchFile, from which Read takes them. In memory are
/// one image or line at a time, the labels, with `shuffle` eight bytes for each sample of the file,
/// and for a folder the sizes of each sample.
///
/// Samples of a folder may differ in the sizes that the model leaves open. Those of one size follow
/// each other, as a group; groups are in the order of their first samples.
class DatasetSamples final : public SampleSource {
 public:
  /// Reads samples for a model with one f32 input. `input` is its shape, with the batch outermost.
  /// All samples get the dims that FitDims (sample_dims.h) finds for it. UserError naming the file,
  /// or saying how the sizes differ; damage and numbers that are not finite are also found here.
  DatasetSamples(const DataConfig& config, const Shape& input);
  /// Reads samples for a model with these inputs. One f32 input works as above, without those that
  /// `config.constants` names. Several inputs, or one of integers, take the arrays of an archive by
  /// their names, without scaling; see ArraysOf and ConvertExactly (named_inputs.h). UserError
  /// likewise.
  DatasetSamples(const DataConfig& config, std::span<const InputForm> inputs);
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return inputs_.size(); }
  /// Returns samples as one [count, ...] per input, in the input's type. UserError if they do not
  /// all exist or are of several groups.
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override;
  [[nodiscard]] std::int64_t GroupEnd(std::int64_t first) const override;
  /// Returns the class numbers (>= 0) of all samples, or none: see ClassNumbersOf.
  [[nodiscard]] const std::vector<std::int32_t>& labels() const { return labels_; }
  /// Returns labels of any kind.
  [[nodiscard]] const std::vector<SampleLabels>& all_labels() const { return all_labels_; }
  /// Returns what the samples of each input look like.
  [[nodiscard]] std::vector<InputSummary> Summary() const;
  /// Checks that all class numbers are below `classes`; 0 = number of classes unknown, no check.
  /// UserError naming file, row and label.
  void CheckLabels(std::int64_t classes) const;

 private:
  /// A sample of a folder in the file of its input.
  struct Piece {
    std::uint64_t offset = 0;
    Dims dims;
  };
  struct Input {
    std::string name;
    ScratchFile file;
    DType dtype = DType::kF32;
    Dims sample;                ///< of all samples, or of the last one that was read
    bool for_all = false;       ///< the file has one sample, which all share
    std::vector<Piece> pieces;  ///< of a folder, by sample
    std::uint64_t bytes = 0;    ///< written so far
    ValueStatistics values;
  };
  /// Returns a sample [1, ...] of these dims as the model gets it.
  using Conversion = std::function<Tensor(const RawSample& sample, const Dims& dims)>;
  void ReadImages(const DataConfig& config, const InputForm& form, Input& input);
  void ReadArrays(const DataConfig& config, std::span<const InputForm> forms,
                  std::span<Input* const> inputs);
  void ReadForAll(const DataConfig& config, const InputForm& form, Input& input);
  /// Reads the samples of an input and stores what `convert` makes of them. `config` is resolved
  /// (ResolveFormat).
  static RawSamples Take(const DataConfig& config, const InputForm& form, const Conversion& convert,
                         Input& input);
  /// Writes a sample, whose dims are `input.sample`, to the file of the input.
  static void Store(const Tensor& converted, std::int64_t place, bool by_pieces, Input& input);
  void TakeLabels(const DataConfig& config, const RawSamples& raw);
  /// Returns for each sample the number of its group.
  [[nodiscard]] std::vector<std::int64_t> GroupNumbers() const;
  /// Sorts the samples of a folder by their groups.
  void Group();

  std::deque<Input> inputs_;  // a deque does not move its elements
  std::int64_t count_ = 0;
  std::vector<std::int64_t> group_ends_;  // none or one: all samples have one size
  std::vector<std::int32_t> labels_;
  std::vector<SampleLabels> all_labels_;
};

/// Samples by which a model is judged.
struct Dataset {
  Tensor inputs;                              ///< f32 [N, ...], N >= 1
  std::vector<std::int32_t> labels;           ///< N class numbers >= 0, or none
  std::vector<SampleLabels> all_labels = {};  ///< of any kind; Slice leaves them out
  [[nodiscard]] std::int64_t size() const { return inputs.dims().at(0); }
};

/// The same for a model with any inputs.
struct SampleSet {
  std::vector<Tensor> inputs;                 ///< [N, ...] each, N >= 1
  std::vector<std::int32_t> labels;           ///< N class numbers >= 0, or none
  std::vector<SampleLabels> all_labels = {};  ///< of any kind
  [[nodiscard]] std::int64_t size() const { return inputs.at(0).dims().at(0); }
};
/// Reads all samples and labels into memory. UserError if samples differ in their sizes; `config`
/// names them in the message.
[[nodiscard]] SampleSet ReadAll(const DatasetSamples& samples, const DataConfig& config);

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
