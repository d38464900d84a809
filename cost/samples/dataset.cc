#include "cost/samples/dataset.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "compiler/base/error.h"
#include "cost/samples/convert.h"
#include "cost/samples/named_inputs.h"
#include "cost/samples/sample_dims.h"
#include "cost/samples/sample_files.h"

namespace msc::cost {
namespace {

/// Returns the numbers of a sample before normalisation; bytes are divided by 255.
std::vector<float> PlainValues(const Tensor& raw, const std::string& path) {
  std::vector<float> values = AsFloats(raw, path);
  if (raw.dtype() != DType::kU8) return values;
  for (float& value : values) value /= 255.0F;
  return values;
}

void Normalize(std::span<const float> from, const DataConfig& config, std::int64_t channels,
               std::span<float> to) {
  const std::size_t inner = to.empty() ? 1 : to.size() / static_cast<std::size_t>(channels);
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels); ++channel) {
    const auto mean = static_cast<float>(config.mean[config.mean.size() == 1 ? 0 : channel]);
    const auto std = static_cast<float>(config.std[config.std.size() == 1 ? 0 : channel]);
    for (std::size_t i = channel * inner; i < (channel + 1) * inner; ++i) {
      to[i] = (from[i] - mean) / std;
    }
  }
}

void CheckChannels(const DataConfig& config, std::int64_t channels) {
  for (const auto* list : {&config.mean, &config.std}) {
    if (list->size() == 1 || static_cast<std::int64_t>(list->size()) == channels) continue;
    throw UserError(std::string(list == &config.mean ? "'mean'" : "'std'") + " has " +
                    std::to_string(list->size()) + " numbers; it needs one, or one for each of " +
                    std::to_string(channels) + " channels");
  }
}

/// Returns a sample in the form of the model's input: f32, with a 1 in front of the dims `sample`.
Tensor Convert(const Tensor& raw, const DataConfig& config, const Dims& sample) {
  Dims dims = {1};
  dims.insert(dims.end(), sample.begin(), sample.end());
  Tensor out(DType::kF32, std::move(dims));
  const std::int64_t channels = sample.empty() ? 1 : sample[0];
  CheckChannels(config, channels);
  const auto values = out.MutableValues<float>();
  Normalize(PlainValues(raw, config.images), config, channels, values);
  for (const float value : values) {
    if (!std::isfinite(value)) {
      throw UserError("'" + config.images + "' holds a sample that is not finite");
    }
  }
  return out;
}

std::vector<std::int32_t> LoadLabels(const DataConfig& config, const RawSamples& raw) {
  const Tensor tensor = ReadLabels(config, raw);
  if (tensor.size() != raw.count || tensor.dims()[0] != raw.count) {
    throw UserError("'" + config.labels + "' holds labels of shape " + ToString(tensor.dims()) +
                    " for " + std::to_string(raw.count) + " samples");
  }
  if (!IsInteger(tensor.dtype())) {
    throw UserError("'" + config.labels + "' holds labels that are not integers");
  }
  std::vector<std::int32_t> labels;
  labels.reserve(static_cast<std::size_t>(tensor.size()));
  for (const std::int64_t label : AsIntegers(tensor, config.labels)) {
    if (label < 0 || label > std::numeric_limits<std::int32_t>::max()) {
      const auto at = static_cast<std::size_t>(labels.size());
      const std::int64_t row =
          raw.rows.empty() ? config.first + static_cast<std::int64_t>(at) : raw.rows[at];
      throw UserError("'" + config.labels + "' holds " + std::to_string(label) + " in row " +
                      std::to_string(row) + ", counted from 0, which is not a class number");
    }
    labels.push_back(static_cast<std::int32_t>(label));
  }
  return labels;
}

[[noreturn]] void RejectRange(std::int64_t all, std::int64_t first, std::int64_t count) {
  throw UserError("there are " + std::to_string(all) + " samples; " + std::to_string(count) +
                  " from number " + std::to_string(first) + " on were requested");
}

}  // namespace

DatasetSamples::DatasetSamples(const DataConfig& config, const Shape& input) {
  ReadImages(config, input);
}

DatasetSamples::DatasetSamples(const DataConfig& config, std::span<const InputForm> inputs) {
  if (inputs.empty()) throw UserError("the model has no input: it takes no samples");
  if (inputs.size() == 1 && inputs[0].dtype == DType::kF32) {
    ReadImages(config, inputs[0].shape);
  } else {
    ReadArrays(config, inputs);
  }
}

void DatasetSamples::ReadImages(const DataConfig& given, const Shape& input) {
  if (given.images.empty()) throw UserError("'images' must name a file of samples");
  const DataConfig config = ResolveFormat(given);
  Input& only = inputs_.emplace_back();
  bool is_first = true;
  const RawSamples raw = ReadSamples(config, input, [&](std::int64_t place, const Tensor& sample) {
    if (std::exchange(is_first, false)) only.sample = FitDims(sample, input, config.images);
    const Tensor converted = Convert(sample, config, only.sample);
    only.file.Write(static_cast<std::uint64_t>(place) * converted.bytes(), converted.Raw());
  });
  count_ = raw.count;
  TakeLabels(config, raw);
}

void DatasetSamples::ReadArrays(const DataConfig& given, std::span<const InputForm> inputs) {
  if (given.images.empty()) throw UserError("'images' must name a file of samples");
  DataConfig config = given;
  config.format = FormOf(given);
  const std::vector<std::string> arrays = ArraysOf(config, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    DataConfig own = config;
    own.images = arrays[i];
    own = ResolveFormat(own);
    Input& input = inputs_.emplace_back();
    input.dtype = inputs[i].dtype;
    bool is_first = true;
    const auto take = [&](std::int64_t place, const Tensor& sample) {
      if (std::exchange(is_first, false)) {
        input.sample = FitDims(sample, inputs[i].shape, own.images);
      }
      const Tensor converted = ConvertExactly(sample, inputs[i], input.sample, own.images);
      input.file.Write(static_cast<std::uint64_t>(place) * converted.bytes(), converted.Raw());
    };
    const RawSamples raw = ReadSamples(own, inputs[i].shape, take);
    count_ = raw.count;
    if (i == 0) TakeLabels(own, raw);
  }
}

void DatasetSamples::TakeLabels(const DataConfig& config, const RawSamples& raw) {
  if (config.labels.empty()) return;
  labels_ = LoadLabels(config, raw);
  labels_path_ = config.labels == "folders" ? config.images : config.labels;
  label_rows_ = raw.rows;
  first_ = config.first;
}

void DatasetSamples::CheckLabels(std::int64_t classes) const {
  if (classes <= 0) return;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] < classes) continue;
    const std::int64_t row =
        label_rows_.empty() ? first_ + static_cast<std::int64_t>(i) : label_rows_[i];
    throw UserError("'" + labels_path_ + "' holds " + std::to_string(labels_[i]) + " in row " +
                    std::to_string(row) + ", counted from 0; the model has " +
                    std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1));
  }
}

std::vector<Tensor> DatasetSamples::Read(std::int64_t first, std::int64_t count) const {
  // The difference cannot overflow; the sum of `first` and `count` could.
  if (first < 0 || count < 0 || first > count_ || count > count_ - first) {
    RejectRange(count_, first, count);
  }
  std::vector<Tensor> read;
  for (const Input& input : inputs_) {
    Dims dims = {count};
    dims.insert(dims.end(), input.sample.begin(), input.sample.end());
    Tensor& rows = read.emplace_back(input.dtype, std::move(dims));
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(ElementCount(input.sample)) * ByteSize(input.dtype);
    input.file.Read(static_cast<std::uint64_t>(first) * bytes, rows.MutableRaw());
  }
  return read;
}

SampleSet LoadSampleSet(const DataConfig& config, std::span<const InputForm> inputs,
                        std::int64_t classes) {
  const DatasetSamples samples(config, inputs);
  samples.CheckLabels(classes);
  return {samples.Read(0, samples.count()), samples.labels()};
}

Dataset LoadDataset(const DataConfig& config, const Shape& input, std::int64_t classes) {
  const DatasetSamples samples(config, input);
  samples.CheckLabels(classes);
  return {std::move(samples.Read(0, samples.count())[0]), samples.labels()};
}

Dataset Slice(const Dataset& dataset, std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 1 || first > dataset.size() || count > dataset.size() - first) {
    RejectRange(dataset.size(), first, count);
  }
  Dims dims = dataset.inputs.dims();
  dims[0] = count;
  Dataset slice{Tensor(DType::kF32, std::move(dims)), {}};
  const std::size_t row = dataset.inputs.bytes() / static_cast<std::size_t>(dataset.size());
  if (slice.inputs.bytes() > 0) {
    std::memcpy(slice.inputs.MutableRaw().data(),
                dataset.inputs.Raw().data() + static_cast<std::size_t>(first) * row,
                slice.inputs.bytes());
  }
  if (!dataset.labels.empty()) {
    slice.labels.assign(dataset.labels.begin() + first, dataset.labels.begin() + first + count);
  }
  return slice;
}

}  // namespace msc::cost
