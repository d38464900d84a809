#include "cost/samples/dataset.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "compiler/base/error.h"
#include "cost/samples/array_file.h"
#include "cost/samples/convert.h"
#include "cost/samples/label_files.h"
#include "cost/samples/named_inputs.h"
#include "cost/samples/normalize.h"
#include "cost/samples/sample_dims.h"
#include "cost/samples/sample_files.h"

namespace msc::cost {
namespace {

/// Throws UserError if a sample, as the model gets it, holds a number that is not finite.
void CheckFinite(const Tensor& converted, const RawSample& raw) {
  if (AllFinite(converted)) return;
  throw UserError(NameOf(raw) + " holds a number that is not finite");
}

[[noreturn]] void RejectRange(std::int64_t all, std::int64_t first, std::int64_t count) {
  throw UserError("there are " + std::to_string(all) + " samples; " + std::to_string(count) +
                  " from number " + std::to_string(first) + " on were requested");
}

/// Throws UserError if samples differ in their sizes.
void RequireOneSize(const DatasetSamples& samples, const DataConfig& config) {
  if (samples.GroupEnd(0) == samples.count()) return;
  throw UserError("the samples of '" + config.images +
                  "' have different sizes, and samples of one size are needed here: give the "
                  "model's sizes with --shape (in a config, 'shapes'), and for images 'resize'");
}

}  // namespace

DatasetSamples::DatasetSamples(const DataConfig& config, const Shape& input)
    : DatasetSamples(config, std::vector<InputForm>{{.name = "", .shape = input}}) {}

DatasetSamples::DatasetSamples(const DataConfig& given, std::span<const InputForm> forms) {
  if (forms.empty()) throw UserError("the model has no input: it takes no samples");
  if (given.images.empty()) throw UserError("'images' must name a file of samples");
  DataConfig config = given;
  config.format = FormOf(given);
  std::vector<InputForm> read;
  std::vector<Input*> inputs;
  for (const InputForm& form : forms) {
    Input& input = inputs_.emplace_back();
    input.name = form.name;
    input.dtype = form.dtype;
    const auto constant = config.constants.find(form.name);
    if (constant == config.constants.end()) {
      read.push_back(form);
      inputs.push_back(&input);
      continue;
    }
    const Tensor one = Filled(form, constant->second);
    input.sample.assign(one.dims().begin() + 1, one.dims().end());
    input.for_all = true;
    input.file.Write(0, one.Raw());
    input.values.Add(one);
  }
  for (const auto& [name, number] : config.constants) {
    if (std::ranges::find(forms, name, &InputForm::name) != forms.end()) continue;
    throw UserError("'constants' names the input '" + name + "', which the model does not have");
  }
  if (read.empty()) throw UserError("'constants' names all inputs: no samples are left to read");
  if (TakesArrays(config, read)) {
    ReadArrays(config, read, inputs);
  } else {
    ReadImages(config, read[0], *inputs[0]);
  }
  Group();
}

void DatasetSamples::Store(const Tensor& converted, std::int64_t place, bool by_pieces,
                           Input& input) {
  if (by_pieces) {
    input.pieces.resize(std::max(input.pieces.size(), static_cast<std::size_t>(place) + 1));
    input.pieces[static_cast<std::size_t>(place)] = {input.bytes, input.sample};
    input.file.Write(input.bytes, converted.Raw());
    input.bytes += converted.bytes();
  } else {
    input.file.Write(static_cast<std::uint64_t>(place) * converted.bytes(), converted.Raw());
  }
  input.values.Add(converted);
}

RawSamples DatasetSamples::Take(const DataConfig& config, const InputForm& form,
                                const Conversion& convert, Input& input) {
  const Shape wanted = SampleShape(form);
  const bool is_folder = config.format == "folder";
  bool is_first = true;
  return ReadSamples(config, form, [&](const RawSample& sample) {
    // The rows of an array have one size, the files of a folder may differ.
    if (is_folder || std::exchange(is_first, false)) {
      const Dims own(sample.values.dims().begin() + 1, sample.values.dims().end());
      input.sample = FitDims(own, wanted, sample.file);
    }
    const Tensor converted = convert(sample, input.sample);
    CheckFinite(converted, sample);
    Store(converted, sample.place, is_folder, input);
  });
}

void DatasetSamples::ReadImages(const DataConfig& given, const InputForm& form, Input& input) {
  const DataConfig config = ResolveFormat(given);
  const auto convert = [&](const RawSample& sample, const Dims& dims) {
    return form.dtype == DType::kF32 ? Normalized(sample, config, dims)
                                     : ConvertExactly(sample.values, form, dims, sample.file);
  };
  const RawSamples raw = Take(config, form, convert, input);
  count_ = raw.count;
  TakeLabels(config, raw);
}

void DatasetSamples::ReadArrays(const DataConfig& config, std::span<const InputForm> forms,
                                std::span<Input* const> inputs) {
  const std::vector<InputArray> arrays = ArraysOf(config, forms);
  for (std::size_t i = 0; i < forms.size(); ++i) {
    DataConfig own = config;
    own.images = arrays[i].path;
    if (arrays[i].for_all) {
      ReadForAll(own, forms[i], *inputs[i]);
      continue;
    }
    own = ResolveFormat(own);
    const auto convert = [&](const RawSample& sample, const Dims& dims) {
      return ConvertExactly(sample.values, forms[i], dims, sample.file);
    };
    const RawSamples raw = Take(own, forms[i], convert, *inputs[i]);
    // The first input with samples of its own has the labels.
    if (count_ == 0) TakeLabels(own, raw);
    count_ = raw.count;
  }
  if (count_ > 0) return;
  throw UserError("'" + config.images + "' holds one sample for all, and no other");
}

void DatasetSamples::ReadForAll(const DataConfig& config, const InputForm& form, Input& input) {
  const Shape wanted = SampleShape(form);
  const Tensor one = ReadArray(config.format, config.images);
  Dims own = one.dims();
  // A first axis of 1 may count the one sample.
  if (!own.empty() && own[0] == 1 && !FittedDims(own, wanted)) own.erase(own.begin());
  input.sample = FitDims(own, wanted, config.images);
  input.for_all = true;
  const Tensor converted = ConvertExactly(one, form, input.sample, config.images);
  if (!AllFinite(converted)) {
    throw UserError("'" + config.images + "' holds a number that is not finite");
  }
  input.file.Write(0, converted.Raw());
  input.values.Add(converted);
}

std::vector<std::int64_t> DatasetSamples::GroupNumbers() const {
  std::map<std::vector<Dims>, std::int64_t> known;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
    std::vector<Dims> sizes;
    for (const Input& input : inputs_) {
      if (!input.pieces.empty()) sizes.push_back(input.pieces.at(i).dims);
    }
    numbers.push_back(known.emplace(std::move(sizes), std::ssize(known)).first->second);
  }
  return numbers;
}

void DatasetSamples::Group() {
  group_ends_ = {count_};
  const bool by_pieces =
      std::ranges::any_of(inputs_, [](const Input& input) { return !input.pieces.empty(); });
  if (!by_pieces) return;
  const std::vector<std::int64_t> group = GroupNumbers();
  std::vector<std::size_t> order(group.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return group[i]; });
  const auto sort = [&](auto& values) {
    if (values.empty()) return;
    auto sorted = values;
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
    values = std::move(sorted);
  };
  for (Input& input : inputs_) sort(input.pieces);
  sort(labels_);
  for (SampleLabels& labels : all_labels_) Reorder(order, labels);
  group_ends_.clear();
  for (std::size_t i = 1; i <= order.size(); ++i) {
    if (i == order.size() || group[order[i]] != group[order[i - 1]]) {
      group_ends_.push_back(static_cast<std::int64_t>(i));
    }
  }
}

std::int64_t DatasetSamples::GroupEnd(std::int64_t first) const {
  const auto end = std::ranges::upper_bound(group_ends_, first);
  return end == group_ends_.end() ? count_ : *end;
}

std::vector<InputSummary> DatasetSamples::Summary() const {
  std::vector<InputSummary> summaries;
  for (const Input& input : inputs_) {
    InputSummary& summary = summaries.emplace_back(InputSummary{.name = input.name,
                                                                .dtype = input.dtype,
                                                                .sizes = {},
                                                                .for_all = input.for_all,
                                                                .values = input.values});
    if (input.pieces.empty()) {
      summary.sizes = {input.sample};
      continue;
    }
    for (const Piece& piece : input.pieces) {
      if (std::ranges::find(summary.sizes, piece.dims) == summary.sizes.end()) {
        summary.sizes.push_back(piece.dims);
      }
    }
    std::ranges::sort(summary.sizes, {},
                      [](const Dims& dims) { return std::pair(ElementCount(dims), dims); });
  }
  return summaries;
}

void DatasetSamples::TakeLabels(const DataConfig& config, const RawSamples& raw) {
  all_labels_ = ReadSampleLabels(config, raw);
  labels_ = ClassNumbersOf(all_labels_);
}

void DatasetSamples::CheckLabels(std::int64_t classes) const {
  if (classes <= 0 || labels_.empty()) return;
  const auto of_classes = std::ranges::find_if(all_labels_, AreClassNumbers);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] < classes) continue;
    throw UserError("'" + of_classes->path + "' holds " + std::to_string(labels_[i]) + " in row " +
                    std::to_string(of_classes->rows[i]) + ", counted from 0; the model has " +
                    std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1));
  }
}

std::vector<Tensor> DatasetSamples::Read(std::int64_t first, std::int64_t count) const {
  // The difference cannot overflow; the sum of `first` and `count` could.
  if (first < 0 || count < 0 || first > count_ || count > count_ - first) {
    RejectRange(count_, first, count);
  }
  if (count > 0 && first + count > GroupEnd(first)) {
    throw UserError("samples " + std::to_string(first) + " to " +
                    std::to_string(first + count - 1) + " have different sizes");
  }
  std::vector<Tensor> read;
  for (const Input& input : inputs_) {
    Dims dims = {count};
    const bool by_pieces = !input.pieces.empty() && count > 0;
    const Dims& sample =
        by_pieces ? input.pieces[static_cast<std::size_t>(first)].dims : input.sample;
    dims.insert(dims.end(), sample.begin(), sample.end());
    Tensor& rows = read.emplace_back(input.dtype, std::move(dims));
    const std::size_t bytes =
        static_cast<std::size_t>(ElementCount(sample)) * ByteSize(input.dtype);
    if (!by_pieces && !input.for_all) {
      input.file.Read(static_cast<std::uint64_t>(first) * bytes, rows.MutableRaw());
      continue;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const std::uint64_t offset =
          input.for_all ? 0 : input.pieces[static_cast<std::size_t>(first) + i].offset;
      input.file.Read(offset, rows.MutableRaw().subspan(i * bytes, bytes));
    }
  }
  return read;
}

SampleSet ReadAll(const DatasetSamples& samples, const DataConfig& config) {
  RequireOneSize(samples, config);
  return {samples.Read(0, samples.count()), samples.labels(), samples.all_labels()};
}

SampleSet LoadSampleSet(const DataConfig& config, std::span<const InputForm> inputs,
                        std::int64_t classes) {
  const DatasetSamples samples(config, inputs);
  samples.CheckLabels(classes);
  return ReadAll(samples, config);
}

Dataset LoadDataset(const DataConfig& config, const Shape& input, std::int64_t classes) {
  const DatasetSamples samples(config, input);
  samples.CheckLabels(classes);
  SampleSet all = ReadAll(samples, config);
  return {std::move(all.inputs[0]), std::move(all.labels), std::move(all.all_labels)};
}

Dataset Slice(const Dataset& dataset, std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 1 || first > dataset.size() || count > dataset.size() - first) {
    RejectRange(dataset.size(), first, count);
  }
  Dims dims = dataset.inputs.dims();
  dims[0] = count;
  Dataset slice{.inputs = Tensor(DType::kF32, std::move(dims)), .labels = {}};
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
