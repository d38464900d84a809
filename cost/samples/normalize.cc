#include "cost/samples/normalize.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "cost/samples/convert.h"

namespace msc::cost {
namespace {

/// Returns the numbers of a sample after the factor.
std::vector<float> Scaled(const RawSample& raw, double scale) {
  std::vector<float> values = AsFloats(raw.values, raw.file);
  if (scale != 0) {
    for (float& value : values) value = static_cast<float>(value * scale);
  } else if (raw.values.dtype() == DType::kU8) {
    for (float& value : values) value /= 255.0F;
  }
  return values;
}

/// Returns the axis of `sample` to which the mean and the deviation of each channel belong: the
/// first or else the last one of that size.
std::size_t ChannelAxis(const DataConfig& config, const Dims& sample) {
  const std::int64_t channels = sample.empty() ? 1 : sample[0];
  std::optional<std::size_t> axis;
  for (const auto* list : {&config.mean, &config.std}) {
    if (list->size() == 1) continue;
    const auto size = static_cast<std::int64_t>(list->size());
    const std::size_t own = size == channels ? 0 : sample.empty() ? 0 : sample.size() - 1;
    const bool fits = !sample.empty() && sample[own] == size && axis.value_or(own) == own;
    if (!fits) {
      throw UserError(std::string(list == &config.mean ? "'mean'" : "'std'") + " has " +
                      std::to_string(list->size()) + " numbers; it needs one, or one for each of " +
                      std::to_string(channels) + " channels");
    }
    axis = own;
  }
  return axis.value_or(0);
}

/// Subtracts the mean and divides by the deviation, by channel.
void Normalize(std::span<float> values, const DataConfig& config, const Dims& sample) {
  const std::size_t axis = ChannelAxis(config, sample);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < sample.size(); ++i) {
    inner *= static_cast<std::size_t>(sample[i]);
  }
  const auto channels = sample.empty() ? 1 : static_cast<std::size_t>(sample[axis]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    const auto mean = static_cast<float>(config.mean[config.mean.size() == 1 ? 0 : channel]);
    const auto std = static_cast<float>(config.std[config.std.size() == 1 ? 0 : channel]);
    values[i] = (values[i] - mean) / std;
  }
}

}  // namespace

Tensor Normalized(const RawSample& raw, const DataConfig& config, const Dims& sample) {
  Dims dims = {1};
  dims.insert(dims.end(), sample.begin(), sample.end());
  std::vector<float> values = Scaled(raw, config.scale);
  Normalize(values, config, sample);
  return Tensor::From<float>(DType::kF32, std::move(dims), values);
}

Tensor Filled(const InputForm& form, double number) {
  const auto dims = StaticDims(SampleShape(form));
  if (!dims) {
    throw UserError("the input '" + form.name + "' of 'constants' is " + ToString(form.shape) +
                    ": give its sizes in --shape (in a config, 'shapes')");
  }
  const NumberSink sink{.path = "constants", .name = form.name};
  const bool whole = !IsFloat(form.dtype);
  if (whole && number != std::floor(number)) {
    throw UserError("'constants' gives " + std::to_string(number) + " to the input '" + form.name +
                    "' of " + std::string(Name(form.dtype)));
  }
  const Tensor one = whole ? Tensor::From<std::int64_t>(
                                 DType::kI64, {1}, std::vector{static_cast<std::int64_t>(number)})
                           : Tensor::From<double>(DType::kF64, {1}, std::vector{number});
  const Tensor value = ConvertedTo(one, form.dtype, sink);
  Dims all = {1};
  all.insert(all.end(), dims->begin(), dims->end());
  Tensor filled(form.dtype, std::move(all));
  for (std::size_t at = 0; at < filled.bytes(); at += value.bytes()) {
    std::memcpy(filled.MutableRaw().data() + at, value.Raw().data(), value.bytes());
  }
  return filled;
}

}  // namespace msc::cost
