#include "gym/app/track_samples.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/samples.h"
#include "gym/app/input_files.h"
#include "gym/app/options.h"
#include "gym/app/samples.h"
#include "gym/search/sample_layout.h"

namespace msc::gym {
namespace {

/// Samples in memory, with their memory.
struct HeldSamples {
  std::vector<Tensor> rows;
  TensorSamples samples;
  explicit HeldSamples(std::vector<Tensor> given) : rows(std::move(given)), samples(rows) {}
};

std::shared_ptr<const SampleSource> Hold(std::vector<Tensor> rows) {
  const auto held = std::make_shared<HeldSamples>(std::move(rows));
  return {held, &held->samples};
}

/// Returns `count` rows that are all equal to `tensor`.
Tensor Repeated(const Tensor& tensor, std::int64_t count) {
  Dims dims = tensor.dims();
  dims.insert(dims.begin(), 1);
  const std::vector<Tensor> row = {tensor.Reshaped(dims)};
  return JoinBatches(std::vector<std::vector<Tensor>>(static_cast<std::size_t>(count), row))[0];
}

/// Returns random numbers, or zeros for types other than f32.
Tensor RandomTensor(DType dtype, Dims dims, Rng& rng) {
  Tensor tensor(dtype, std::move(dims));
  if (dtype == DType::kF32) {
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return tensor;
}

std::vector<Tensor> RandomRows(const Graph& bound, std::int64_t count, std::uint64_t seed) {
  std::vector<Tensor> rows;
  Rng rng(seed);
  for (const ValueId id : bound.inputs()) {
    const ValueType& type = bound.type(id);
    const SampleAxis along = SampleAxisOf(bound, id);
    Dims dims = StaticDims(type.shape.value()).value();
    if (along.counting == SampleCounting::kShared) {
      rows.push_back(Repeated(RandomTensor(type.dtype, std::move(dims), rng), count));
      continue;
    }
    if (along.counting == SampleCounting::kAlong) dims.erase(dims.begin() + along.axis);
    dims.insert(dims.begin(), count);
    rows.push_back(RandomTensor(type.dtype, std::move(dims), rng));
  }
  return rows;
}

/// Returns the rows of the arrays of --input, of all samples or of those asked for; nothing if
/// arrays differ in how many samples they have.
std::optional<std::vector<Tensor>> RowsOf(const std::vector<Tensor>& arrays, const Graph& bound,
                                          std::optional<std::int64_t> samples) {
  if (arrays.size() != bound.inputs().size()) return std::nullopt;
  std::optional<std::int64_t> count;
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const SampleAxis along = SampleAxisOf(bound, bound.inputs()[i]);
    rows.push_back(arrays[i]);
    if (along.counting == SampleCounting::kShared) continue;
    if (along.counting == SampleCounting::kWhole) rows[i] = Repeated(arrays[i], 1);
    if (along.counting == SampleCounting::kAlong) {
      if (along.axis >= std::ssize(arrays[i].dims())) return std::nullopt;
      rows[i] = MoveAxis(arrays[i], static_cast<std::size_t>(along.axis), 0);
    }
    const std::int64_t here = rows[i].dims().at(0);
    if (count.value_or(here) != here) return std::nullopt;
    count = here;
  }
  if (!count) return std::nullopt;
  const std::int64_t most = samples.value_or(*count);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool shared = SampleAxisOf(bound, bound.inputs()[i]).counting == SampleCounting::kShared;
    rows[i] = shared ? Repeated(rows[i], most) : Rows(rows[i], 0, most);
  }
  return rows;
}

std::vector<Tensor> ReadInputs(const std::vector<std::string>& files, const Graph& bound) {
  std::vector<Tensor> inputs;
  CheckInputCount(files, bound.inputs().size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Value& value = bound.value(bound.inputs()[i]);
    inputs.push_back(ReadInput(files[i], value.name, value.type.dtype));
    // A file cannot hold an array without axes.
    if (value.type.shape->empty() && inputs[i].size() == 1) inputs[i] = inputs[i].Reshaped({});
  }
  return inputs;
}

/// Cuts the first call off the samples.
TrackSamples FirstOf(std::shared_ptr<const SampleSource> source, const Graph& bound) {
  const std::int64_t batch = BatchSize(bound, 1);
  const std::int64_t count = source->count();
  if (count < batch) {
    throw UserError("a call takes " + std::to_string(batch) + " samples, but there are only " +
                    std::to_string(count) + "; give more, or compile for a smaller --batch");
  }
  if (count % batch > 0) {
    std::fprintf(stderr, "note: the last %lld of %lld samples do not fill a call of %lld\n",
                 static_cast<long long>(count % batch), static_cast<long long>(count),
                 static_cast<long long>(batch));
  }
  std::vector<Tensor> first = InputsOfRows(LayoutOf(bound), source->Read(0, batch));
  return {std::move(source), std::move(first)};
}

}  // namespace

void AddTrackSampleOptions(CLI::App& command, TrackSampleOptions& options) {
  command.add_option("--input", options.inputs,
                     "one .npy file per input, in order; a file may hold many samples");
  command.add_option("--data", options.data, "instead: file or folder with samples");
  AddFormOptions(command, options.form);
  command.add_option("--random", options.random,
                     "instead: use normally distributed random inputs with this seed");
  command
      .add_option("--samples", options.samples,
                  "number of samples; default: " + std::to_string(kTrackSamples) +
                      " of --data, or all if there are fewer; all of --input; about " +
                      std::to_string(kRandomSamples) + " random ones")
      ->check(CLI::Range(1, 10000000));
}

void PlaceTrackSamples(Graph& graph, const TrackSampleOptions& options) {
  const int ways =
      (options.inputs.empty() ? 0 : 1) + (options.data.empty() ? 0 : 1) + (options.random ? 1 : 0);
  if (ways != 1) throw UserError("give one of --input, --data and --random");
  if (!options.data.empty()) {
    PlaceSamplesOf(graph, options.form, {options.data});
    return;
  }
  for (const ValueId id : graph.inputs()) {
    const auto& shape = graph.type(id).shape;
    if (!shape || !shape->empty()) continue;
    SetSampleAxis(graph, id, {.counting = SampleCounting::kShared});
  }
  // There are no files to look at: this places the outputs.
  DecideSampleLayout(graph, {&options.form, 1});
}

TrackSamples OpenTrackSamples(const TrackSampleOptions& options, const Graph& canonical,
                              const Graph& bound) {
  if (options.random) {
    const std::int64_t batch = BatchSize(bound, 1);
    const std::int64_t calls = (kRandomSamples + batch - 1) / batch;
    return FirstOf(
        Hold(RandomRows(bound, options.samples.value_or(calls * batch), *options.random)), bound);
  }
  if (!options.data.empty()) {
    SampleOptions opened;
    opened.data = options.form;
    opened.test_images = options.data;
    opened.test_samples = options.samples.value_or(kTrackSamples);
    opened.data.or_fewer = !options.samples.has_value();
    return FirstOf(OpenTest(opened, canonical).source, bound);
  }
  std::vector<Tensor> inputs = ReadInputs(options.inputs, bound);
  auto rows = RowsOf(inputs, bound, options.samples);
  if (!rows) return {nullptr, std::move(inputs)};
  return FirstOf(Hold(*std::move(rows)), bound);
}

}  // namespace msc::gym
