#include "cost/samples/one_sample.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ir/sample_axes.h"
#include "cost/samples/array_file.h"
#include "cost/samples/image_file.h"
#include "cost/samples/image_fit.h"
#include "cost/samples/wav_file.h"
#include "cost/samples/zip_file.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 28U;

[[noreturn]] void RejectSample(const std::string& file) {
  throw UserError("'" + file + "' would become a sample of more than 2^28 numbers");
}

/// Where images go: the sizes that a model wants.
struct ImageForm {
  std::int64_t channels = 1;
  Dim height;
  Dim width;
  bool channels_last = false;
  bool channel_axis = true;  ///< false: [height, width]
};

/// Returns the form of images for a model that takes them. UserError for other models.
ImageForm ImageFormOf(const InputForm& input) {
  const Shape sample = SampleShape(input);
  if (sample.size() == 2) {
    return {.height = sample[0], .width = sample[1], .channel_axis = false};
  }
  const auto counts = [](const Dim& dim) {
    return dim.known() && (dim.size() == 1 || dim.size() == 3);
  };
  // Where both could be channels, the first axis is, as in most models.
  if (sample.size() == 3 && counts(sample[0])) {
    return {.channels = sample[0].size(), .height = sample[1], .width = sample[2]};
  }
  if (sample.size() == 3 && counts(sample[2])) {
    return {.channels = sample[2].size(),
            .height = sample[0],
            .width = sample[1],
            .channels_last = true};
  }
  throw UserError(
      "images are for a model whose input is [N, 1 or 3, height, width], [N, height, width, 1 or "
      "3] or [N, height, width], not " +
      ToString(input.shape));
}

/// Reads an image as a sample.
OneSample ImageSample(const std::string& file, const DataConfig& config, const ImageForm& form) {
  const Tensor image = ReadImage(file);
  const std::int64_t height = image.dims().at(0);
  const std::int64_t width = image.dims().at(1);
  // Where the model leaves a size open, the image keeps its own.
  const ImageSize size{.channels = form.channels,
                       .height = form.height.known() ? form.height.size() : height,
                       .width = form.width.known() ? form.width.size() : width};
  if (size.height > kMaxElements / size.channels / std::max<std::int64_t>(size.width, 1)) {
    RejectSample(file);
  }
  CheckFit(config.image, size);
  if (config.image.resize == Resize::kNone && (height != size.height || width != size.width)) {
    throw UserError("'" + file + "' is " + std::to_string(width) + " x " + std::to_string(height) +
                    " pixels; the model's input needs " + std::to_string(size.width) + " x " +
                    std::to_string(size.height) + ". Set 'resize' to stretch, pad or crop images");
  }
  const Tensor fitted = FitImage(image, config.image, size);
  OneSample sample{.values = {}, .picture = Picture{height, width, size}};
  if (!form.channel_axis) {
    sample.values = fitted.Reshaped({1, size.height, size.width});
  } else if (!form.channels_last) {
    sample.values = fitted.Reshaped({1, size.channels, size.height, size.width});
  } else {
    sample.values = MoveAxis(fitted, 0, 2).Reshaped({1, size.height, size.width, size.channels});
  }
  return sample;
}

/// Reads audio as a sample: [1, samples] or [1, channels, samples].
Tensor WaveSample(const std::string& file, const DataConfig& config, const InputForm& input,
                  std::int64_t& rate) {
  const Shape sample = SampleShape(input);
  if (sample.empty() || sample.size() > 2 || (sample.size() == 2 && !sample[0].known())) {
    throw UserError(
        "audio is for a model whose input is [N, samples] or [N, channels, samples], "
        "not " +
        ToString(input.shape));
  }
  const Wave wave = ReadWave(file);
  if (rate == 0) rate = wave.rate;
  if (wave.rate != rate) {
    throw UserError("'" + file + "' has " + std::to_string(wave.rate) + " samples per second, " +
                    (config.sample_rate != 0 ? "not the " : "files before it ") +
                    std::to_string(rate) + (config.sample_rate != 0 ? " of 'sample_rate'" : "") +
                    ". Rates are not converted: convert the files first, such as with ffmpeg -ar " +
                    std::to_string(rate));
  }
  WaveFit fit{.channels = sample.size() == 2 ? sample[0].size() : 1, .cut = config.cut};
  if (sample.back().known()) fit.length = sample.back().size();
  if (fit.length.value_or(0) > kMaxElements / fit.channels) RejectSample(file);
  Dims dims = {1};
  if (sample.size() == 2) dims.push_back(fit.channels);
  Tensor fitted = FitWave(wave, fit, file);
  dims.push_back(fitted.dims()[1]);
  return fitted.Reshaped(std::move(dims));
}

/// Reads the one sample of an array file as [1, ...]. A leading axis of 1 may count samples.
Tensor ArraySample(const std::string& format, const std::string& array, bool channels_last) {
  const Tensor whole = ReadArray(format, array);
  Dims dims = {1};
  dims.insert(dims.end(), whole.dims().begin(), whole.dims().end());
  Tensor sample = whole.Reshaped(std::move(dims));
  return channels_last ? ChannelsFirst(sample, array) : sample;
}

}  // namespace

OneSample ReadOne(FileKind kind, const std::string& file, const DataConfig& config,
                  const InputForm& input, std::int64_t& rate) {
  const bool channels_last = config.layout == "hwc";
  switch (kind) {
    case FileKind::kImage:
      return ImageSample(file, config, ImageFormOf(input));
    case FileKind::kWave:
      return {WaveSample(file, config, input, rate)};
    case FileKind::kNpz:
      return {ArraySample("npz", MemberOf(file, input.name), channels_last)};
    case FileKind::kNpy:
      break;
  }
  return {ArraySample("npy", file, channels_last)};
}

std::string MemberOf(const std::string& file, const std::string& input) {
  return ZipMembers(file).size() == 1 ? file : file + ":" + input;
}

Tensor ChannelsFirst(const Tensor& images, const std::string& path) {
  const Dims& dims = images.dims();
  if (dims.size() < 3) {
    throw UserError("samples of '" + path + "' are " + ToString(dims) +
                    ", the first of which counts them: there are no channels to reorder");
  }
  return MoveAxis(images, dims.size() - 1, 1);
}

}  // namespace msc::cost
