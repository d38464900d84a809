#include "cost/samples/sample_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "cost/samples/array_file.h"
#include "cost/samples/csv_file.h"
#include "cost/samples/image_file.h"

namespace msc::cost {
namespace {

/// Splits "FILE:COLUMN"; the column is empty without a colon.
std::pair<std::string, std::string> SplitColumn(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void VisitArrays(const DataConfig& config, const RowRange& rows, const RowVisitor& visit) {
  if (config.format != "csv") return VisitRows(config.format, config.images, rows, visit);
  const auto [file, column] = SplitColumn(config.labels);
  VisitCsv(config.images, file == config.images ? column : "", rows, visit);
}

/// Returns the format that the ending of a name shows; empty if it shows none.
std::string FormOfName(std::string name) {
  constexpr std::string_view kPacked = ".gz";
  if (name.find(".npz:") != std::string::npos || name.ends_with(".npz")) return "npz";
  if (name.ends_with(kPacked)) name.resize(name.size() - kPacked.size());
  if (name.ends_with(".npy")) return "npy";
  if (name.ends_with(".csv")) return "csv";
  if (name.ends_with("-ubyte") || name.ends_with(".idx")) return "idx";
  return "";
}

/// Returns the format of the labels; FILE:COLUMN also is CSV.
std::string FormOfLabels(const DataConfig& config) {
  const auto [file, column] = SplitColumn(config.labels);
  if (!column.empty() && FormOfName(file) == "csv") return "csv";
  const std::string form = FormOfName(config.labels);
  return form.empty() ? config.format : form;
}

Tensor ReadLabelFile(const DataConfig& config, const RowRange& rows) {
  const std::string& labels = config.labels;
  const std::string form = FormOfLabels(config);
  if (form == "idx") return ReadIdx(labels, rows);
  if (form == "npy") return ReadNpy(labels, rows);
  if (form == "npz") return ReadNpz(labels, rows);
  const auto [file, column] = SplitColumn(labels);
  if (column.empty()) {
    throw UserError("'" + labels + "': labels beside " +
                    (config.format == "folder" ? "images are 'folders', " : "a CSV file are ") +
                    "a column of one, FILE:COLUMN, or a .npy file");
  }
  return ReadCsvColumn(file, column, rows);
}

/// Returns which of `all` samples to take, in order. UserError if they do not all exist.
std::vector<std::int64_t> ChosenRows(const DataConfig& config, std::int64_t all) {
  const std::int64_t count = config.count == 0 ? all - config.first : config.count;
  if (config.first > all || count < 1 || count > all - config.first) {
    throw UserError("'" + config.images + "' has " + std::to_string(all) + " samples; " +
                    std::to_string(std::max<std::int64_t>(count, 0)) + " from number " +
                    std::to_string(config.first) + " on were requested");
  }
  // The order takes eight bytes per sample: 1 GiB at most.
  constexpr std::int64_t kMaxShuffled = std::int64_t{1} << 27U;
  if (config.shuffle != 0 && all > kMaxShuffled) {
    throw UserError("'" + config.images + "' has " + std::to_string(all) +
                    " samples; at most 2^27 can be shuffled");
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(all));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (config.shuffle != 0) {
    Rng rng(config.shuffle);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  }
  return {order.begin() + config.first, order.begin() + config.first + count};
}

/// Returns these rows of `all`, in this order.
Tensor Picked(const Tensor& all, const std::vector<std::int64_t>& rows) {
  Dims dims = all.dims();
  const std::size_t bytes = all.bytes() / static_cast<std::size_t>(dims.at(0));
  dims[0] = std::ssize(rows);
  Tensor picked(all.dtype(), std::move(dims));
  for (std::size_t i = 0; i < rows.size() && bytes > 0; ++i) {
    std::memcpy(picked.MutableRaw().data() + i * bytes,
                all.Raw().data() + static_cast<std::size_t>(rows[i]) * bytes, bytes);
  }
  return picked;
}

/// Converts [N, H, W, C] to [N, C, H, W], and [N, L, C] likewise.
Tensor ChannelsFirst(const Tensor& images, const std::string& path) {
  const Dims& dims = images.dims();
  if (dims.size() < 3) {
    throw UserError("samples of '" + path + "' are " + ToString(dims) +
                    ", the first of which counts them: there are no channels to reorder");
  }
  const std::int64_t channels = dims.back();
  Dims turned = {dims[0], channels};
  turned.insert(turned.end(), dims.begin() + 1, dims.end() - 1);
  const std::int64_t places = ElementCount(std::span(dims).subspan(1, dims.size() - 2));
  Tensor out(images.dtype(), std::move(turned));
  const std::size_t size = ByteSize(images.dtype());
  const auto at = [&](std::int64_t index) { return static_cast<std::size_t>(index) * size; };
  for (std::int64_t n = 0; n < dims[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < places; ++i) {
        std::memcpy(out.MutableRaw().data() + at((n * channels + c) * places + i),
                    images.Raw().data() + at((n * places + i) * channels + c), size);
      }
    }
  }
  return out;
}

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 32U;

[[noreturn]] void RejectSize(const DataConfig& config) {
  throw UserError("'" + config.images +
                  "' holds more than 4 GiB of samples; take fewer with 'count'");
}

/// Returns the dims [1, C, H, W] of a sample for a model that takes images. UserError for other
/// models.
Dims ImageDims(const DataConfig& config, const Shape& input, std::int64_t count) {
  const auto sample =
      input.empty() ? std::nullopt : StaticDims(Shape(input.begin() + 1, input.end()));
  if (!sample || sample->size() != 3 || (sample->at(0) != 1 && sample->at(0) != 3)) {
    throw UserError("images are for a model whose input is [N, 1 or 3, height, width], not " +
                    ToString(input));
  }
  if (count > kMaxBytes / std::max<std::int64_t>(ElementCount(*sample), 1)) RejectSize(config);
  return {1, sample->at(0), sample->at(1), sample->at(2)};
}

/// Reads a folder of images, only those that are taken.
RawSamples ReadFolder(const DataConfig& config, const Shape& input, const SampleVisitor& visit) {
  const ImageList list = ListImages(config.images);
  RawSamples raw;
  raw.rows = ChosenRows(config, std::ssize(list.files));
  raw.count = std::ssize(raw.rows);
  const Dims dims = ImageDims(config, input, raw.count);
  for (std::int64_t i = 0; i < raw.count; ++i) {
    const std::int64_t row = raw.rows[static_cast<std::size_t>(i)];
    const std::string& file = list.files[static_cast<std::size_t>(row)];
    const Tensor image = ReadImage(file);
    const Dims& size = image.dims();
    if (!config.resize && (size[0] != dims[2] || size[1] != dims[3])) {
      throw UserError("'" + file + "' is " + std::to_string(size[1]) + " x " +
                      std::to_string(size[0]) + " pixels; the model's input needs " +
                      std::to_string(dims[3]) + " x " + std::to_string(dims[2]) +
                      ". Set 'resize' to scale images");
    }
    visit(i, FitImage(image, dims[1], dims[2], dims[3]).Reshaped(dims));
  }
  if (config.labels != "folders") return raw;
  if (list.classes.empty()) {
    throw UserError("'" + config.images + "' has images outside of subfolders: they have no class");
  }
  raw.labels = Tensor(DType::kI32, {raw.count});
  for (std::size_t i = 0; i < raw.rows.size(); ++i) {
    raw.labels->MutableValues<std::int32_t>()[i] =
        list.classes[static_cast<std::size_t>(raw.rows[i])];
  }
  return raw;
}

/// Checks that the samples to take from an array are neither none nor too many. UserError
/// otherwise.
void CheckSize(const DataConfig& config) {
  if (config.format == "csv") return;  // checked while reading
  const ArrayForm form = ReadArrayForm(config.format, config.images);
  if (form.dims[0] == 0) throw UserError("'" + config.images + "' holds no samples");
  const std::int64_t elements = ElementCount(form.dims) / form.dims[0];
  if (elements == 0) throw UserError("'" + config.images + "' holds samples without elements");
  const std::int64_t left = form.dims[0] - std::min(config.first, form.dims[0]);
  const std::int64_t taken = config.count == 0 ? left : std::min(config.count, left);
  const std::int64_t bytes = elements * static_cast<std::int64_t>(ByteSize(form.dtype));
  if (taken > kMaxBytes / bytes) RejectSize(config);
}

std::int64_t CountRows(const DataConfig& config) {
  if (config.format == "folder") return std::ssize(ListImages(config.images).files);
  if (config.format != "csv") return ReadArrayForm(config.format, config.images).dims[0];
  std::int64_t all = 0;
  VisitArrays(config, {}, [&](const Tensor& /*row*/) { ++all; });
  return all;
}

}  // namespace

std::string FormOf(const DataConfig& config) {
  if (config.format != "auto") return config.format;
  std::error_code error;  // reading reports it later
  if (std::filesystem::is_directory(config.images, error)) return "folder";
  const std::string form = FormOfName(config.images);
  return form.empty() ? "idx" : form;
}

DataConfig ResolveFormat(DataConfig config) {
  config.format = FormOf(config);
  if (!config.or_fewer || config.count == 0) return config;
  const std::int64_t all = CountRows(config);
  if (config.first <= all && all - config.first < config.count) config.count = 0;
  return config;
}

RawSamples ReadSamples(const DataConfig& config, const Shape& input, const SampleVisitor& visit) {
  const bool is_folder = config.format == "folder";
  if (is_folder && config.layout != "as_is") {
    throw UserError(
        "'layout' is for arrays: images of a folder are always read with channels first");
  }
  if (!is_folder && config.resize) {
    throw UserError("'resize' is for images of a folder; arrays must have the model's sizes");
  }
  if (is_folder) return ReadFolder(config, input, visit);
  CheckSize(config);
  RawSamples raw;
  RowRange rows{config.first, config.count};
  // Position among the samples taken, by row; -1 for rows that are not taken; empty = one run of
  // rows.
  std::vector<std::int64_t> places;
  if (config.shuffle != 0) {
    const std::int64_t all = CountRows(config);
    raw.rows = ChosenRows(config, all);
    places.assign(static_cast<std::size_t>(all), -1);
    for (std::size_t i = 0; i < raw.rows.size(); ++i) {
      places[static_cast<std::size_t>(raw.rows[i])] = static_cast<std::int64_t>(i);
    }
    // All rows are read once, in the order of the file.
    rows = {};
  }
  std::int64_t row = 0;
  std::int64_t bytes = 0;
  VisitArrays(config, rows, [&](const Tensor& sample) {
    const auto at = static_cast<std::size_t>(row++);
    if (config.shuffle != 0 && (at >= places.size() || places[at] < 0)) return;
    bytes += static_cast<std::int64_t>(sample.bytes());
    if (bytes > kMaxBytes) RejectSize(config);
    ++raw.count;
    const std::int64_t place = config.shuffle != 0 ? places[at] : row - 1;
    if (config.layout == "hwc") {
      visit(place, ChannelsFirst(sample, config.images));
    } else {
      visit(place, sample);
    }
  });
  if (raw.count == 0) throw UserError("'" + config.images + "' holds no samples");
  if (config.shuffle != 0 && raw.count != std::ssize(raw.rows)) {
    throw UserError("'" + config.images + "' changed while it was read");
  }
  return raw;
}

Tensor ReadLabels(const DataConfig& config, const RawSamples& samples) {
  if (samples.labels) return *samples.labels;
  if (samples.rows.empty()) return ReadLabelFile(config, {config.first, config.count});
  const Tensor all = ReadLabelFile(config, {});
  const std::int64_t most = *std::max_element(samples.rows.begin(), samples.rows.end());
  if (all.dims()[0] <= most) {
    throw UserError("'" + config.labels + "' holds " + std::to_string(all.dims()[0]) +
                    " labels, fewer than there are samples");
  }
  return Picked(all, samples.rows);
}

}  // namespace msc::cost
