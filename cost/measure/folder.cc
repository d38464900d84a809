#include "cost/measure/folder.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/build.h"
#include "cost/quality/bind_labels.h"
#include "cost/quality/choose_form.h"
#include "cost/quality/quality.h"

namespace msc::cost {
namespace {

/// Describes the samples that candidates are fitted to.
struct FitFacts {
  std::string hash;
  FitOptions options;
  static void Fields(auto& self, auto& visit) {
    visit("hash", self.hash, "hash of samples and options");
    visit("options", self.options, "how they are used");
  }
};

/// Contents of evaluation.json.
struct Manifest {
  std::string format = "msc-evaluation-2";
  std::string graph_hash;
  std::string samples_hash;
  std::int64_t samples = 0;
  std::int64_t inputs = 1;
  std::vector<std::string> input_names;
  std::int64_t outputs = 0;
  bool labelled = false;
  std::vector<LabelledOutput> labels;
  OutputForms forms;
  std::map<std::string, OutputForm> given_forms;
  std::vector<std::string> losses;
  std::map<std::string, MetricReference> metrics;
  EvaluationSettings settings;
  std::optional<FitFacts> fit;
  double build_ms = 0;
  double run_ms = 0;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form",
          Within::OneOf({"msc-evaluation-2"}));
    visit("graph_hash", self.graph_hash, "hash of the canonical graph");
    visit("samples_hash", self.samples_hash, "hash of inputs and labels");
    visit("samples", self.samples, "number of samples", Within{1, 1e9});
    visit("inputs", self.inputs, "inputs of the graph", Within{1, 1e6});
    visit("input_names", self.input_names, "names of the inputs");
    visit("outputs", self.outputs, "outputs of the graph", Within{1, 1e6});
    visit("labelled", self.labelled, "whether there are class numbers");
    visit("labels", self.labels, "outputs with labels");
    visit("forms", self.forms, "how outputs are compared");
    visit("given_forms", self.given_forms, "those of them that the config states");
    visit("losses", self.losses, "names of the losses");
    visit("metrics", self.metrics, "metrics of the user, of the uncompressed model");
    visit("settings", self.settings, "how candidates are judged");
    visit("fit", self.fit, "what candidates are fitted to");
    visit("build_ms", self.build_ms, "milliseconds to build the uncompressed model",
          Within{0, 1e12});
    visit("run_ms", self.run_ms, "milliseconds to run it on all samples", Within{0, 1e12});
  }
};

std::string GraphStem(const std::string& path) {
  return path + "/graph";
}
/// Returns the path of an array; the first input has no number.
std::string ArrayPath(const std::string& path, const std::string& what, std::int64_t input) {
  return path + "/" + what + (input == 0 ? "" : "_" + std::to_string(input)) + ".npy";
}
std::string InputsPath(const std::string& path, std::int64_t input) {
  return ArrayPath(path, "inputs", input);
}
std::string LabelsPath(const std::string& path) {
  return path + "/labels.npy";
}
std::string LabelEndsPath(const std::string& path, std::size_t index) {
  return path + "/label_ends_" + std::to_string(index) + ".npy";
}
std::string LabelNumbersPath(const std::string& path, std::size_t index) {
  return path + "/label_numbers_" + std::to_string(index) + ".npy";
}
std::string CalibrationPath(const std::string& path, std::int64_t input) {
  return ArrayPath(path, "calibration", input);
}
std::string ReferencePath(const std::string& path, std::size_t output) {
  return path + "/reference_" + std::to_string(output) + ".npy";
}
std::string MetricPath(const std::string& path, const std::string& metric) {
  return path + "/metric_" + metric + ".npy";
}
std::string ManifestPath(const std::string& path) {
  return path + "/evaluation.json";
}

Manifest ReadManifest(const std::string& path) {
  constexpr std::uint64_t kLimit = 1U << 20U;
  const std::string file = ManifestPath(path);
  const std::string text = ReadFile(file, kLimit);
  try {
    return FromJsonText<Manifest>(text, "'" + file + "'");
  } catch (const UserError& error) {
    throw UserError(std::string(error.what()) +
                    "; if another version of mscgym prepared this folder, choose another --out");
  }
}

std::string HashSamples(const SampleSet& samples, const std::vector<OutputLabels>& labels) {
  Sha256 hash;
  for (const Tensor& input : samples.inputs) {
    hash.Add(ToString(input.dims()) + (samples.labels.empty() ? " unlabelled" : ""));
    hash.Add(input.Raw());
  }
  hash.Add(std::as_bytes(std::span(samples.labels)));
  HashLabels(labels, hash);
  return hash.Hex();
}

void WriteLabels(const std::string& path, const std::vector<OutputLabels>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const NumbersBySample& numbers = labels[i].numbers;
    WriteNpy(LabelEndsPath(path, i),
             Tensor::From<std::int64_t>(DType::kI64, {numbers.size()}, numbers.ends));
    if (numbers.values.empty()) continue;  // no sample has a box
    WriteNpy(LabelNumbersPath(path, i),
             Tensor::From<float>(DType::kF32, {std::ssize(numbers.values)}, numbers.values));
  }
}

/// Samples in NumPy files, one file per input.
class NpySamples final : public SampleSource {
 public:
  explicit NpySamples(std::vector<std::string> paths)
      : paths_(std::move(paths)), count_(ReadArrayForm("npy", paths_.at(0)).dims.at(0)) {}
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return paths_.size(); }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override {
    Check(count > 0, "samples are asked for");
    std::vector<Tensor> read;
    for (const std::string& path : paths_) read.push_back(ReadNpy(path, {first, count}));
    return read;
  }

 private:
  std::vector<std::string> paths_;
  std::int64_t count_;
};

PreparedFolder FolderOf(const std::string& path, Manifest manifest) {
  PreparedFolder folder;
  folder.path = path;
  folder.graph_hash = std::move(manifest.graph_hash);
  folder.samples_hash = std::move(manifest.samples_hash);
  folder.samples = manifest.samples;
  folder.inputs = manifest.inputs;
  folder.input_names = std::move(manifest.input_names);
  folder.outputs = manifest.outputs;
  folder.labelled = manifest.labelled;
  folder.labels = std::move(manifest.labels);
  folder.forms = std::move(manifest.forms);
  folder.given_forms = std::move(manifest.given_forms);
  folder.losses = std::move(manifest.losses);
  folder.metrics = std::move(manifest.metrics);
  folder.settings = std::move(manifest.settings);
  folder.build_ms = manifest.build_ms;
  folder.run_ms = manifest.run_ms;
  if (manifest.fit) {
    folder.fit_hash = std::move(manifest.fit->hash);
    folder.fit = std::move(manifest.fit->options);
  }
  return folder;
}

/// Returns the arrays that metrics read, in a folder that holds them.
MetricArrays ArraysOf(const PreparedFolder& folder) {
  MetricArrays arrays{.inputs = {}, .labels = {}, .reference = {}, .samples = folder.samples};
  for (std::int64_t i = 0; i < folder.inputs; ++i) {
    arrays.inputs.push_back({.name = folder.input_names.at(static_cast<std::size_t>(i)),
                             .path = InputsPath(folder.path, i)});
  }
  if (folder.labelled) arrays.labels = {.name = "labels", .path = LabelsPath(folder.path)};
  for (std::size_t i = 0; i < static_cast<std::size_t>(folder.outputs); ++i) {
    arrays.reference.push_back(
        {.name = folder.forms.at(i).name, .path = ReferencePath(folder.path, i)});
  }
  return arrays;
}

/// Measures the metrics of the uncompressed model, and writes those of each sample.
void MeasureMetrics(const PreparedFolder& folder, const MetricHost& host, Manifest& manifest) {
  MetricJudge judge(folder.settings.metrics, ArraysOf(folder), host);
  if (judge.empty()) return;
  manifest.metrics = judge.MeasureReference();
  for (const auto& [name, metric] : manifest.metrics) {
    manifest.losses.push_back(name);
    const std::vector<double>* values = judge.ReferenceValues(name);
    if (values == nullptr) continue;
    WriteNpy(MetricPath(folder.path, name),
             Tensor::From<double>(DType::kF64, {folder.samples}, *values));
  }
}

/// Copies `part` to the rows of `whole` from `first` on.
void CopyRows(const Tensor& part, std::int64_t first, Tensor& whole) {
  if (part.bytes() == 0) return;
  const std::size_t row = part.bytes() / static_cast<std::size_t>(part.dims()[0]);
  std::memcpy(whole.MutableRaw().data() + static_cast<std::size_t>(first) * row, part.Raw().data(),
              part.bytes());
}

}  // namespace

std::vector<Tensor> ReferenceOutputs(const Preparation& preparation, const TargetRegistry& targets,
                                     ReferenceTime* time) {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const Clock::time_point begin = Clock::now();
  const EvaluationSettings& settings = preparation.settings;
  const SampleSet& samples = *preparation.samples;
  Strategy uncompressed;
  uncompressed.target = settings.target;
  auto built =
      BuildCandidate(*preparation.graph, uncompressed, targets, {settings.threads, settings.batch});
  if (!built.ok()) {
    throw UserError("the uncompressed model does not run on '" + settings.target +
                    "': " + built.failure().detail);
  }
  const Clock::time_point ready = Clock::now();
  std::vector<Tensor> outputs;
  const int calls = CallsAtOnce(settings.threads);
  ForEachBatch(built.value(), samples.inputs, calls,
               [&](std::int64_t first, std::span<const Tensor> batch) {
                 if (outputs.empty()) {
                   for (const Tensor& part : batch) {
                     Dims dims = part.dims();
                     dims[0] = samples.size();
                     outputs.emplace_back(part.dtype(), std::move(dims));
                   }
                 }
                 for (std::size_t i = 0; i < batch.size(); ++i)
                   CopyRows(batch[i], first, outputs[i]);
                 return BatchVerdict::kGoOn;
               });
  if (time != nullptr) {
    const double run = Milliseconds(Clock::now() - ready).count();
    *time = {Milliseconds(ready - begin).count(), run * calls};
  }
  return outputs;
}

PreparedFolder PrepareFolder(const std::string& path, const Preparation& preparation,
                             const TargetRegistry& targets) {
  const SampleSet& samples = *preparation.samples;
  ReferenceTime time;
  const std::vector<Tensor> reference = ReferenceOutputs(preparation, targets, &time);
  MakeFolders(path);
  SaveGraph(*preparation.graph, GraphStem(path));
  for (std::size_t i = 0; i < samples.inputs.size(); ++i) {
    WriteNpy(InputsPath(path, static_cast<std::int64_t>(i)), samples.inputs[i]);
  }
  if (!samples.labels.empty()) {
    WriteNpy(LabelsPath(path),
             Tensor::From<std::int32_t>(DType::kI32, {samples.size()}, samples.labels));
  }
  for (std::size_t i = 0; i < reference.size(); ++i) WriteNpy(ReferencePath(path, i), reference[i]);
  Manifest manifest;
  manifest.forms = ChooseForms(*preparation.graph, reference, preparation.forms);
  manifest.given_forms = preparation.forms;
  if (const SampleSource* calibration = preparation.calibration) {
    for (std::size_t i = 0; i < calibration->inputs(); ++i) {
      WriteNpy(CalibrationPath(path, static_cast<std::int64_t>(i)), *calibration, i);
    }
    FitOptions fit = preparation.fit;
    fit.forms = manifest.forms;
    manifest.fit = {FitHash(*calibration, fit), fit};
  }
  manifest.graph_hash = GraphHash(*preparation.graph);
  const BoundLabels labels = BindLabels(samples.all_labels, manifest.forms, reference);
  if (preparation.say) std::ranges::for_each(labels.notes, preparation.say);
  WriteLabels(path, labels.outputs);
  for (const OutputLabels& each : labels.outputs) {
    manifest.labels.push_back({each.output, each.kind});
  }
  manifest.samples_hash = HashSamples(samples, labels.outputs);
  manifest.samples = samples.size();
  manifest.inputs = std::ssize(samples.inputs);
  for (const ValueId input : preparation.graph->inputs()) {
    manifest.input_names.push_back(preparation.graph->value(input).name);
  }
  manifest.outputs = static_cast<std::int64_t>(reference.size());
  manifest.labelled = !samples.labels.empty();
  manifest.losses = LossNames(manifest.forms, reference, {.labels = labels.outputs});
  manifest.settings = preparation.settings;
  manifest.build_ms = time.build_ms;
  manifest.run_ms = time.run_ms;
  MeasureMetrics(FolderOf(path, manifest), preparation.metric_host, manifest);
  WriteFileAtomic(ManifestPath(path), ToJsonText(manifest, 2) + "\n");
  return OpenFolder(path);
}

void SetMemory(PreparedFolder& folder, std::int64_t memory_mb) {
  Manifest manifest = ReadManifest(folder.path);
  manifest.settings.memory_mb = memory_mb;
  WriteFileAtomic(ManifestPath(folder.path), ToJsonText(manifest, 2) + "\n");
  folder.settings.memory_mb = memory_mb;
}

PreparedFolder OpenFolder(const std::string& path) {
  return FolderOf(path, ReadManifest(path));
}

std::int64_t WeightFileBytes(const PreparedFolder& folder) {
  const std::string path = GraphStem(folder.path) + ".weights";
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) throw SystemError("cannot read '" + path + "'", error.value());
  return static_cast<std::int64_t>(bytes);
}

Graph LoadCanonical(const PreparedFolder& folder) {
  return LoadGraph(GraphStem(folder.path));
}

std::vector<Tensor> LoadInputs(const PreparedFolder& folder, const RowRange& rows) {
  std::vector<Tensor> inputs;
  for (std::int64_t i = 0; i < folder.inputs; ++i) {
    inputs.push_back(ReadNpy(InputsPath(folder.path, i), rows));
  }
  return inputs;
}

std::vector<std::int32_t> LoadLabels(const PreparedFolder& folder, const RowRange& rows) {
  if (!folder.labelled) return {};
  const Tensor labels = ReadNpy(LabelsPath(folder.path), rows);
  const auto values = labels.Values<std::int32_t>();
  return {values.begin(), values.end()};
}

std::vector<OutputLabels> LoadOutputLabels(const PreparedFolder& folder, const RowRange& rows) {
  std::vector<OutputLabels> labels;
  for (std::size_t i = 0; i < folder.labels.size(); ++i) {
    OutputLabels& each = labels.emplace_back(
        OutputLabels{.output = folder.labels[i].output, .kind = folder.labels[i].kind});
    // The end of the sample before is where the first one begins.
    const bool from_start = rows.first == 0;
    const RowRange read{from_start ? 0 : rows.first - 1,
                        rows.count == 0 ? 0 : rows.count + (from_start ? 0 : 1)};
    const Tensor ends = ReadNpy(LabelEndsPath(folder.path, i), read);
    const auto all = ends.Values<std::int64_t>();
    const std::int64_t begin = from_start ? 0 : all.front();
    for (const std::int64_t end : all.subspan(from_start ? 0 : 1)) {
      each.numbers.ends.push_back(end - begin);
    }
    if (all.back() == begin) continue;
    const Tensor numbers = ReadNpy(LabelNumbersPath(folder.path, i), {begin, all.back() - begin});
    const auto values = numbers.Values<float>();
    each.numbers.values.assign(values.begin(), values.end());
  }
  return labels;
}

std::unique_ptr<SampleSource> OpenCalibration(const PreparedFolder& folder) {
  Check(!folder.fit_hash.empty(), "a folder whose calibration samples are read has some");
  std::vector<std::string> paths;
  for (std::int64_t i = 0; i < folder.inputs; ++i) paths.push_back(CalibrationPath(folder.path, i));
  return std::make_unique<NpySamples>(std::move(paths));
}

std::vector<Tensor> LoadReference(const PreparedFolder& folder, const RowRange& rows) {
  std::vector<Tensor> outputs;
  outputs.reserve(static_cast<std::size_t>(folder.outputs));
  for (std::size_t i = 0; i < static_cast<std::size_t>(folder.outputs); ++i) {
    outputs.push_back(ReadNpy(ReferencePath(folder.path, i), rows));
  }
  return outputs;
}

std::unique_ptr<MetricJudge> OpenMetrics(const PreparedFolder& folder, const MetricHost& host) {
  if (folder.settings.metrics.empty()) return nullptr;
  auto judge = std::make_unique<MetricJudge>(folder.settings.metrics, ArraysOf(folder), host);
  std::map<std::string, std::string> values;
  for (const auto& [name, metric] : folder.metrics) {
    if (!metric.whole) values[name] = MetricPath(folder.path, name);
  }
  judge->UseReference(folder.metrics, values);
  return judge;
}

std::vector<ArrayFile> OutputFiles(const PreparedFolder& folder, const std::string& outputs,
                                   std::int64_t first) {
  std::vector<ArrayFile> files;
  for (std::size_t i = 0; i < folder.forms.size(); ++i) {
    files.push_back({.name = folder.forms[i].name,
                     .path = outputs + "/output_" + std::to_string(i) + ".npy",
                     .first = first});
  }
  return files;
}

}  // namespace msc::cost
