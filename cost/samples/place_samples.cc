#include "cost/samples/place_samples.h"

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/base/error.h"
#include "cost/samples/named_inputs.h"
#include "cost/samples/sample_files.h"
#include "cost/samples/sample_folder.h"

namespace msc::cost {
namespace {

constexpr SampleAxis kWhole = {.counting = SampleCounting::kWhole};
constexpr SampleAxis kShared = {.counting = SampleCounting::kShared};

bool IsSize(const Dim& dim, std::int64_t size) {
  return dim.known() && dim.size() == size;
}

/// Returns whether files of this kind are the whole of an input of this shape.
bool IsWholeFile(FileKind kind, const Shape& shape) {
  if (kind == FileKind::kWave) return shape.size() == 1;
  // [3, H, W] and [H, W, 1 or 3] are images; [1, H, W] has a first axis that counts them as well.
  return kind == FileKind::kImage && shape.size() == 3 && shape[0].known() &&
         (IsSize(shape[0], 3) ||
          (shape[0].size() > 1 && (IsSize(shape[2], 1) || IsSize(shape[2], 3))));
}

/// Returns where an input counts samples whose dims are `own`.
SampleAxis FromDims(const Dims& own, const InputForm& input) {
  const bool counted = !input.shape.empty();
  if (counted && FittedDims(own, SampleShape({input.name, input.dtype, input.shape}))) return {};
  return FittedDims(own, input.shape) ? kWhole : SampleAxis{};
}

SampleAxis FromFiles(const DataConfig& config, const InputForm& input) {
  if (const auto own = FirstDims(config, input.name)) return FromDims(*own, input);
  return IsWholeFile(ListSamples(config.images).kind, input.shape) ? kWhole : SampleAxis{};
}

SampleAxis FromArray(const InputArray& array, const InputForm& input) {
  const Dims row(array.dims.begin() + (array.dims.empty() ? 0 : 1), array.dims.end());
  if (!array.for_all) return FromDims(row, input);
  // One sample for all: rows of an input with an open first axis, else the whole input.
  const bool open = !input.shape.empty() && !input.shape[0].known();
  return open ? SampleAxis{} : kShared;
}

SampleAxis OfConstant(const InputForm& input) {
  const bool open = !input.shape.empty() && !input.shape[0].known();
  return open ? SampleAxis{} : kShared;
}

/// Returns the axis that the config names for an input, if it does.
std::optional<SampleAxis> Given(const DataConfig& config, const std::string& name) {
  const auto it = config.batch_axis.find(name);
  if (it == config.batch_axis.end()) return std::nullopt;
  return it->second < 0 ? kWhole : SampleAxis{.axis = it->second};
}

}  // namespace

std::vector<SampleAxis> PlaceSamples(const DataConfig& given, std::span<const InputForm> inputs) {
  DataConfig config = given;
  config.format = FormOf(given);
  std::vector<SampleAxis> axes(inputs.size());
  std::vector<InputForm> read;  // inputs whose samples come from the files
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name;
    InputForm form = inputs[i];
    form.axis = Given(config, name).value_or(form.axis);
    if (config.constants.contains(name)) {
      axes[i] = Given(config, name).value_or(OfConstant(form));
    } else {
      read.push_back(form);
      places.push_back(i);
    }
  }
  if (read.empty() || config.images.empty()) return axes;
  if (!TakesArrays(config, read)) {
    axes[places[0]] = Given(config, read[0].name).value_or(FromFiles(config, read[0]));
    return axes;
  }
  const std::vector<InputArray> arrays = ArraysOf(config, read);
  for (std::size_t i = 0; i < read.size(); ++i) {
    axes[places[i]] = Given(config, read[i].name).value_or(FromArray(arrays[i], read[i]));
  }
  return axes;
}

}  // namespace msc::cost
