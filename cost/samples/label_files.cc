#include "cost/samples/label_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/samples/array_file.h"
#include "cost/samples/coco_file.h"
#include "cost/samples/convert.h"
#include "cost/samples/csv_file.h"
#include "cost/samples/image_file.h"
#include "cost/samples/sample_folder.h"

namespace msc::cost {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxText = std::uint64_t{1} << 28U;
/// Floats hold all smaller integers exactly.
constexpr std::int64_t kMostExact = std::int64_t{1} << 24U;

/// Returns the lines of a file, without line ends and a byte order mark.
std::vector<std::string> ReadLines(const std::string& path) {
  const std::string text = ReadFile(path, kMaxText);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::vector<std::string> lines;
  for (std::size_t at = text.starts_with(kByteOrderMark) ? 3 : 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string& line = lines.emplace_back(text.substr(at, end - at));
    if (line.ends_with('\r')) line.pop_back();
    at = end + 1;
  }
  return lines;
}

std::string NameOfRow(const SampleLabels& labels, std::int64_t sample) {
  return "'" + labels.path + "', sample " +
         std::to_string(labels.rows.at(static_cast<std::size_t>(sample))) + " (counted from 0)";
}

/// Returns the entries for the samples that were read, out of those of a whole file.
template <class T>
std::vector<T> Taken(const std::vector<T>& all, const char* what, const DataConfig& config,
                     const RawSamples& samples, const SampleLabels& labels) {
  const std::int64_t last = *std::ranges::max_element(labels.rows);
  const bool whole = samples.rows.empty() && config.count == 0;
  if (std::ssize(all) <= last || (whole && std::ssize(all) != last + 1)) {
    throw UserError("'" + labels.path + "' has " + std::to_string(all.size()) + " " + what +
                    " for " + std::to_string(last + 1) + " samples");
  }
  std::vector<T> taken;
  for (const std::int64_t row : labels.rows) taken.push_back(all[static_cast<std::size_t>(row)]);
  return taken;
}

void ReadTexts(const std::string& file, const DataConfig& config, const RawSamples& samples,
               SampleLabels& labels) {
  labels.form = LabelForm::kTexts;
  if (config.alphabet.empty()) {
    throw UserError("'" + labels.path +
                    "' holds texts: name a file with the classes of the output, one on each line "
                    "('alphabet', --alphabet)");
  }
  labels.alphabet = ReadLines(config.alphabet);
  labels.alphabet_path = config.alphabet;
  const bool is_table = !file.ends_with(".txt");
  const auto [table, column] = SplitColumn(file);
  const auto all = is_table ? ReadCsvTexts(table, column) : ReadLines(file);
  labels.texts = Taken(all, is_table ? "rows" : "lines", config, samples, labels);
}

LabelForm FormOf(const Tensor& tensor, const std::string& path) {
  if (IsInteger(tensor.dtype()) || tensor.dtype() == DType::kBool) return LabelForm::kIntegers;
  if (IsFloat(tensor.dtype())) return LabelForm::kNumbers;
  throw UserError("'" + path + "' holds labels that are not numbers");
}

/// Appends the numbers of the next `count` samples.
void Append(const Tensor& numbers, std::int64_t count, SampleLabels& labels) {
  const std::vector<float> floats = AsFloats(numbers, labels.path);
  const bool whole = labels.form == LabelForm::kIntegers;
  const auto integers = whole ? AsIntegers(numbers, labels.path) : std::vector<std::int64_t>();
  const std::size_t each = floats.size() / static_cast<std::size_t>(count);
  for (std::size_t at = 0; at < floats.size(); at += each) {
    for (std::size_t i = at; i < at + each; ++i) {
      if (whole && (integers[i] > kMostExact || integers[i] < -kMostExact)) {
        throw UserError(NameOfRow(labels, labels.numbers.size()) + " holds " +
                        std::to_string(integers[i]) + "; labels are below 2^24");
      }
      if (std::isfinite(floats[i])) continue;
      throw UserError(NameOfRow(labels, labels.numbers.size()) +
                      " holds a number that is not finite");
    }
    labels.numbers.Append(std::span(floats).subspan(at, each));
  }
}

void ReadRows(const std::string& file, const DataConfig& config, const RawSamples& samples,
              SampleLabels& labels) {
  const Tensor all = ReadLabels(config, file, samples);
  if (all.dims().empty() || all.dims()[0] != samples.count || all.size() == 0) {
    throw UserError("'" + file + "' holds labels of shape " + ToString(all.dims()) + " for " +
                    std::to_string(samples.count) + " samples");
  }
  labels.form = FormOf(all, labels.path);
  labels.dims.assign(all.dims().begin() + 1, all.dims().end());
  Append(all, samples.count, labels);
}

/// Returns the file with the map of each sample: that of the same name, or the one in its place.
std::vector<std::string> MapFiles(const SampleList& list, const DataConfig& config,
                                  const RawSamples& samples, const SampleLabels& labels) {
  if (samples.files.empty()) return Taken(list.files, "maps", config, samples, labels);
  const auto name_in = [](const std::string& file, const std::string& folder) {
    return fs::path(file).lexically_relative(folder).replace_extension().string();
  };
  std::map<std::string, std::string> by_name;
  for (const std::string& file : list.files) by_name[name_in(file, labels.path)] = file;
  std::vector<std::string> files;
  for (const std::string& sample : samples.files) {
    const auto found = by_name.find(name_in(sample, config.images));
    if (found == by_name.end()) {
      throw UserError("'" + labels.path + "' has no label map for '" + sample +
                      "': it needs a file of the same name");
    }
    files.push_back(found->second);
  }
  return files;
}

void ReadMaps(const DataConfig& config, const RawSamples& samples, SampleLabels& labels) {
  const SampleList list = ListSamples(labels.path);
  if (list.kind != FileKind::kImage && list.kind != FileKind::kNpy) {
    throw UserError("'" + labels.path + "' holds no label maps: grey images or .npy files");
  }
  for (const std::string& file : MapFiles(list, config, samples, labels)) {
    Tensor map = list.kind == FileKind::kNpy ? ReadNpyArray(file) : ReadImage(file);
    if (list.kind == FileKind::kImage) {
      if (map.dims().at(2) != 1) {
        throw UserError("'" + file +
                        "' has colours; a label map is a grey image of class numbers. Save the "
                        "indices of a palette as they are, such as numpy.array(Image.open(...))");
      }
      map = map.Reshaped({map.dims()[0], map.dims()[1]});
    }
    if (map.size() == 0) throw UserError("'" + file + "' holds no numbers");
    const LabelForm form = FormOf(map, file);
    if (labels.numbers.size() == 0) {
      labels.form = form;
      labels.dims = map.dims();
    }
    if (form != labels.form) throw UserError("'" + file + "' is of another type than others");
    Append(map, 1, labels);
  }
}

SampleLabels ReadOf(const std::string& output, const std::string& file, const DataConfig& config,
                    const RawSamples& samples) {
  SampleLabels labels;
  labels.output = output;
  labels.path = file == kLabelFolders ? config.images : file;
  for (std::int64_t i = 0; i < samples.count; ++i) labels.rows.push_back(samples.RowOf(i, config));
  std::error_code error;  // reading reports it later
  if (file.ends_with(".json")) {
    labels.units = config.box_units;
    ReadCoco(config, samples, labels);
  } else if (file != kLabelFolders && fs::is_directory(file, error)) {
    ReadMaps(config, samples, labels);
  } else if (file.ends_with(".txt") || (!config.alphabet.empty() && IsCsvColumn(file))) {
    ReadTexts(file, config, samples, labels);
  } else {
    ReadRows(file, config, samples, labels);
  }
  return labels;
}

}  // namespace

std::vector<SampleLabels> ReadSampleLabels(const DataConfig& config, const RawSamples& samples) {
  std::vector<SampleLabels> labels;
  for (const auto& [output, file] : config.labels.files) {
    labels.push_back(ReadOf(output, file, config, samples));
  }
  return labels;
}

std::vector<std::int32_t> ClassNumbersOf(const std::vector<SampleLabels>& labels) {
  for (const SampleLabels& each : labels) {
    if (!AreClassNumbers(each)) continue;
    return {each.numbers.values.begin(), each.numbers.values.end()};
  }
  return {};
}

bool AreClassNumbers(const SampleLabels& labels) {
  const std::vector<float>& numbers = labels.numbers.values;
  return labels.form == LabelForm::kIntegers && numbers.size() == labels.rows.size() &&
         std::ranges::all_of(numbers, [](float number) { return number >= 0; });
}

void Reorder(const std::vector<std::size_t>& order, SampleLabels& labels) {
  const auto sort = [&](auto& values) {
    if (values.empty()) return;
    auto sorted = values;
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
    values = std::move(sorted);
  };
  sort(labels.rows);
  sort(labels.texts);
  sort(labels.inputs);
  if (labels.numbers.size() == 0) return;
  NumbersBySample sorted;
  for (const std::size_t i : order) {
    sorted.Append(labels.numbers.Of(static_cast<std::int64_t>(i)));
  }
  labels.numbers = std::move(sorted);
}

}  // namespace msc::cost
