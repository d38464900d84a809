#include "cost/measure/metric_folder.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"

namespace msc::cost {
namespace {

constexpr const char* kManifest = "/manifest.json";
constexpr const char* kLabels = "/labels.npy";
constexpr const char* kSamples = "samples";
constexpr const char* kOutputs = "outputs";

/// Returns the name of a file in `folder`, of letters, digits, '.', '-' and '_' alone, that is not
/// among `taken`.
std::string FileOf(const std::string& folder, const std::string& name,
                   const std::vector<MetricArray>& taken) {
  constexpr std::size_t kLongest = 100;
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  std::string plain = name.substr(0, kLongest);
  for (char& c : plain) {
    if (kPlain.find(c) == std::string_view::npos) c = '_';
  }
  if (plain.empty() || plain[0] == '.' || plain[0] == '-') plain.insert(0, "_");
  const std::string stem = folder + "/" + plain;
  std::string file = stem + ".npy";
  for (int number = 2; std::ranges::find(taken, file, &MetricArray::file) != taken.end();
       ++number) {
    file = stem + "_" + std::to_string(number) + ".npy";
  }
  return file;
}

/// Copies rows of each file below `root`, into the folder of that name.
std::vector<MetricArray> CopyArrays(const std::vector<ArrayFile>& files, const RowRange& rows,
                                    const std::string& root, const std::string& folder) {
  MakeFolders(root + "/" + folder);
  std::vector<MetricArray> arrays;
  for (const ArrayFile& file : files) {
    const std::string to = FileOf(folder, file.name, arrays);
    CopyNpyRows(file.path, {rows.first - file.first, rows.count}, root + "/" + to);
    arrays.push_back({file.name, to});
  }
  return arrays;
}

}  // namespace

MetricSamples::MetricSamples(const std::string& scratch, const std::vector<ArrayFile>& inputs,
                             const std::optional<ArrayFile>& labels, const RowRange& rows)
    : folder_(scratch, kMetricPrefix),
      rows_(rows),
      arrays_(CopyArrays(inputs, rows, folder(), kSamples)),
      labelled_(labels.has_value()) {
  if (labels) {
    CopyNpyRows(labels->path, {rows.first - labels->first, rows.count}, folder() + kLabels);
  }
}

MetricFolder::MetricFolder(const std::string& scratch, const MetricSamples& samples,
                           const std::vector<ArrayFile>& outputs)
    : folder_(scratch, kMetricPrefix) {
  namespace fs = std::filesystem;
  MetricManifest manifest{.first = samples.rows().first,
                          .count = samples.rows().count,
                          .samples = samples.arrays(),
                          .outputs = CopyArrays(outputs, samples.rows(), path(), kOutputs),
                          .labels = {}};
  // The folder is removed with the link, not with what it leads to.
  fs::create_directory_symlink(fs::absolute(samples.folder()) / kSamples,
                               fs::path(path()) / kSamples);
  if (samples.labelled()) {
    manifest.labels = kLabels + 1;
    fs::create_symlink(fs::absolute(samples.folder() + kLabels), path() + kLabels);
  }
  WriteFileAtomic(path() + kManifest, ToJsonText(manifest, 2) + "\n");
}

MetricManifest ReadMetricManifest(const std::string& folder) {
  constexpr std::uint64_t kMost = 1U << 20U;
  const std::string file = folder + kManifest;
  return FromJsonText<MetricManifest>(ReadFile(file, kMost), "'" + file + "'");
}

}  // namespace msc::cost
