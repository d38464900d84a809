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
#include "cost/samples/one_sample.h"
#include "cost/samples/sample_folder.h"

namespace msc::cost {
namespace {

void VisitArrays(const DataConfig& config, const RowRange& rows, const RowVisitor& visit) {
  if (config.format != "csv") return VisitRows(config.format, config.images, rows, visit);
  std::vector<std::string> labels;
  for (const auto& [output, path] : config.labels.files) {
    const auto [file, column] = SplitColumn(path);
    if (file == config.images && !column.empty()) labels.push_back(column);
  }
  VisitCsv(config.images, labels, rows, visit);
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
std::string FormOfLabels(const DataConfig& config, const std::string& labels) {
  if (IsCsvColumn(labels)) return "csv";
  const std::string form = FormOfName(labels);
  return form.empty() ? config.format : form;
}

Tensor ReadLabelFile(const DataConfig& config, const std::string& labels, const RowRange& rows) {
  const std::string form = FormOfLabels(config, labels);
  if (form == "idx") return ReadIdx(labels, rows);
  if (form == "npy") return ReadNpy(labels, rows);
  if (form == "npz") return ReadNpz(labels, rows);
  const auto [file, column] = SplitColumn(labels);
  if (column.empty()) {
    throw UserError(
        "'" + labels + "': labels beside " +
        (config.format == "folder" ? "images are 'folders', " : "a CSV file are ") +
        "a column of one, FILE:COLUMN, or a .npy file; docs/samples.md lists all forms");
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

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 32U;

[[noreturn]] void RejectSize(const DataConfig& config) {
  throw UserError("'" + config.images +
                  "' holds more than 4 GiB of samples; take fewer with 'count'");
}

/// Reads a folder, only the files that are taken.
RawSamples ReadFolder(const DataConfig& config, const InputForm& input,
                      const SampleVisitor& visit) {
  const SampleList list = ListSamples(config.images);
  RawSamples raw;
  raw.rows = ChosenRows(config, std::ssize(list.files));
  raw.count = std::ssize(raw.rows);
  std::int64_t rate = config.sample_rate;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < raw.count; ++i) {
    const std::int64_t row = raw.rows[static_cast<std::size_t>(i)];
    const std::string& file = list.files[static_cast<std::size_t>(row)];
    const OneSample sample = ReadOne(list.kind, file, config, input, rate);
    const Tensor& values = sample.values;
    raw.files.push_back(file);
    if (sample.picture) raw.pictures.push_back(*sample.picture);
    bytes += static_cast<std::int64_t>(values.bytes());
    if (bytes > kMaxBytes) RejectSize(config);
    visit({.values = values, .place = i, .file = file, .row = row});
  }
  if (list.classes.empty()) return raw;
  raw.labels = Tensor(DType::kI32, {raw.count});
  for (std::size_t i = 0; i < raw.rows.size(); ++i) {
    raw.labels->MutableValues<std::int32_t>()[i] =
        list.classes[static_cast<std::size_t>(raw.rows[i])];
  }
  return raw;
}

/// Checks that options fit the files they are for. UserError otherwise.
void CheckOptions(const DataConfig& config) {
  const bool is_folder = config.format == "folder";
  const FileKind kind = is_folder ? ListSamples(config.images).kind : FileKind::kNpy;
  const bool images = is_folder && kind == FileKind::kImage;
  const bool waves = is_folder && kind == FileKind::kWave;
  if ((images || waves) && config.layout != "as_is") {
    throw UserError("'layout' is for arrays: images of a folder get the model's order of axes");
  }
  if (!images && config.image != ImageFit()) {
    throw UserError(
        "'resize', 'bgr' and the other keys of images are for images of a folder; arrays must have "
        "the model's sizes and order");
  }
  if (!waves && (config.cut || config.sample_rate != 0)) {
    throw UserError("'cut' and 'sample_rate' are for a folder of WAV files");
  }
}

/// Checks that the samples to take from an array are neither none nor too many. UserError
/// otherwise.
void CheckSize(const DataConfig& config) {
  if (config.format == "csv") return;  // checked while reading
  const ArrayForm form = ReadArrayForm(config.format, config.images);
  if (form.dims.empty()) {
    throw UserError("'" + config.images + "' holds a single number, not samples");
  }
  if (form.dims[0] == 0) throw UserError("'" + config.images + "' holds no samples");
  const std::int64_t elements = ElementCount(form.dims) / form.dims[0];
  if (elements == 0) throw UserError("'" + config.images + "' holds samples without elements");
  const std::int64_t left = form.dims[0] - std::min(config.first, form.dims[0]);
  const std::int64_t taken = config.count == 0 ? left : std::min(config.count, left);
  const std::int64_t bytes = elements * static_cast<std::int64_t>(ByteSize(form.dtype));
  if (taken > kMaxBytes / bytes) RejectSize(config);
}

std::int64_t CountRows(const DataConfig& config) {
  if (config.format == "folder") return std::ssize(ListSamples(config.images).files);
  if (config.format != "csv") {
    const Dims dims = ReadArrayForm(config.format, config.images).dims;
    return dims.empty() ? 0 : dims[0];
  }
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

std::string NameOf(const RawSample& sample) {
  return "'" + sample.file + "' (sample " + std::to_string(sample.row) + ", counted from 0)";
}

std::optional<Dims> FirstDims(const DataConfig& config, const std::string& input) {
  if (config.format == "csv") {
    std::optional<Dims> dims;
    VisitArrays(config, {0, 1}, [&](const Tensor& row) { dims = Dims{row.dims().at(1)}; });
    return dims;
  }
  if (config.format != "folder") {
    Dims dims = ReadArrayForm(config.format, config.images).dims;
    if (dims.empty()) {
      throw UserError("'" + config.images + "' holds a single number, not samples");
    }
    dims.erase(dims.begin());
    if (config.layout == "hwc" && dims.size() >= 2) {
      std::rotate(dims.begin(), dims.end() - 1, dims.end());
    }
    return dims;
  }
  const SampleList list = ListSamples(config.images);
  if (list.kind == FileKind::kNpy) return ReadArrayForm("npy", list.files[0]).dims;
  if (list.kind == FileKind::kNpz) {
    return ReadArrayForm("npz", MemberOf(list.files[0], input)).dims;
  }
  return std::nullopt;
}

RawSamples ReadSamples(const DataConfig& config, const InputForm& input,
                       const SampleVisitor& visit) {
  CheckOptions(config);
  if (config.format == "folder") return ReadFolder(config, input, visit);
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
    RawSample one{.values = sample, .file = config.images};
    one.place = config.shuffle != 0 ? places[at] : row - 1;
    one.row = config.shuffle != 0 ? row - 1 : config.first + row - 1;
    raw.dims.assign(sample.dims().begin() + 1, sample.dims().end());
    if (config.layout != "hwc") return visit(one);
    visit({ChannelsFirst(sample, config.images), one.place, one.file, one.row});
  });
  if (raw.count == 0) throw UserError("'" + config.images + "' holds no samples");
  if (config.shuffle != 0 && raw.count != std::ssize(raw.rows)) {
    throw UserError("'" + config.images + "' changed while it was read");
  }
  return raw;
}

bool IsCsvColumn(const std::string& labels) {
  const auto [file, column] = SplitColumn(labels);
  return !column.empty() && FormOfName(file) == "csv";
}

std::pair<std::string, std::string> SplitColumn(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

Tensor ReadLabels(const DataConfig& config, const std::string& file, const RawSamples& samples) {
  if (file == kLabelFolders && config.format == "folder") {
    if (samples.labels) return *samples.labels;
    throw UserError("'" + config.images +
                    "' has samples outside of subfolders: they have no class");
  }
  if (samples.rows.empty()) return ReadLabelFile(config, file, {config.first, config.count});
  const Tensor all = ReadLabelFile(config, file, {});
  const std::int64_t most = *std::max_element(samples.rows.begin(), samples.rows.end());
  if (all.dims().at(0) <= most) {
    throw UserError("'" + file + "' holds " + std::to_string(all.dims()[0]) +
                    " labels, fewer than there are samples");
  }
  return Picked(all, samples.rows);
}

}  // namespace msc::cost
