#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/temporary_folder.h"
#include "compiler/base/within.h"
#include "cost/samples/array_file.h"

namespace msc::cost {

// The folder that a metric runs in:
//   manifest.json  which samples and arrays these are (MetricManifest)
//   samples/       an array for each input of the model, [count, ...], as the model took it
//   outputs/       an array for each output of the candidate, [count, ...]
//   labels.npy     class numbers [count], if the samples have labels
// Names of files are those of the values, with '_' in place of characters that could harm.

inline constexpr const char* kMetricPrefix = "mscgym-metric-";

/// A NumPy file with rows of a value of the model.
struct ArrayFile {
  std::string name;
  std::string path;
  std::int64_t first = 0;  ///< number of the sample in its first row
};

/// An array in the folder of a metric.
struct MetricArray {
  std::string name;  ///< of the input or output
  std::string file;  ///< relative to the folder
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "name of the value in the model");
    visit("file", self.file, "NumPy file");
  }
};

/// Contents of manifest.json.
struct MetricManifest {
  std::string format = "msc-metric-1";
  std::int64_t first = 0;  ///< number of the first sample among those of quality.data
  std::int64_t count = 0;
  std::vector<MetricArray> samples;
  std::vector<MetricArray> outputs;
  std::string labels;  ///< file; empty if there are no labels
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-metric-1"}));
    visit("first", self.first, "number of the first sample", Within{0, 1e9});
    visit("count", self.count, "number of samples", Within{1, 1e9});
    visit("samples", self.samples, "inputs of the model");
    visit("outputs", self.outputs, "outputs of the candidate");
    visit("labels", self.labels, "class numbers");
  }
};

/// Copies of samples for the metrics of several candidates, in a temporary folder.
class MetricSamples {
 public:
  /// Copies `rows`, whose count is not 0, of the inputs and the labels. UserError as ReadNpy,
  /// SystemError if the disk is full.
  MetricSamples(const std::string& scratch, const std::vector<ArrayFile>& inputs,
                const std::optional<ArrayFile>& labels, const RowRange& rows);
  [[nodiscard]] const RowRange& rows() const noexcept { return rows_; }
  [[nodiscard]] const std::vector<MetricArray>& arrays() const noexcept { return arrays_; }
  [[nodiscard]] bool labelled() const noexcept { return labelled_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  RowRange rows_;
  std::vector<MetricArray> arrays_;
  bool labelled_ = false;
};

/// The folder of a metric, removed with this object. `samples` must outlive it.
class MetricFolder {
 public:
  /// Copies the rows of `samples` of the outputs. Errors as MetricSamples.
  MetricFolder(const std::string& scratch, const MetricSamples& samples,
               const std::vector<ArrayFile>& outputs);
  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

/// Reads the manifest in `folder`. UserError if it is missing or damaged.
[[nodiscard]] MetricManifest ReadMetricManifest(const std::string& folder);

}  // namespace msc::cost
