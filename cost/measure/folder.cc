#include "cost/measure/folder.h"

#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/build.h"

namespace msc::cost {
namespace {

/// What candidates are fitted to.
struct FitFacts {
  std::string hash;
  FitOptions options;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("hash", self.hash, "hash of samples and options");
    visit("options", self.options, "how they are used");
  }
};

/// evaluation.json.
struct Manifest {
  std::string format = "msc-evaluation-1";
  std::string graph_hash;
  std::string samples_hash;
  std::int64_t samples = 0;
  std::int64_t outputs = 0;
  bool labelled = false;
  EvaluationSettings settings;
  std::optional<FitFacts> fit;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form",
          Within::OneOf({"msc-evaluation-1"}));
    visit("graph_hash", self.graph_hash, "hash of the canonical graph");
    visit("samples_hash", self.samples_hash, "hash of inputs and labels");
    visit("samples", self.samples, "how many there are", Within{1, 1e9});
    visit("outputs", self.outputs, "outputs of the graph", Within{1, 1e6});
    visit("labelled", self.labelled, "whether there are labels");
    visit("settings", self.settings, "how candidates are judged");
    visit("fit", self.fit, "what candidates are fitted to");
  }
};

std::string GraphStem(const std::string& path) {
  return path + "/graph";
}
std::string InputsPath(const std::string& path) {
  return path + "/inputs.npy";
}
std::string LabelsPath(const std::string& path) {
  return path + "/labels.npy";
}
std::string CalibrationPath(const std::string& path) {
  return path + "/calibration.npy";
}
std::string ReferencePath(const std::string& path, std::size_t output) {
  return path + "/reference_" + std::to_string(output) + ".npy";
}
std::string ManifestPath(const std::string& path) {
  return path + "/evaluation.json";
}

std::string HashSamples(const Dataset& samples) {
  Sha256 hash;
  hash.Add(ToString(samples.inputs.dims()) + (samples.labels.empty() ? " unlabelled" : ""));
  hash.Add(samples.inputs.Raw());
  hash.Add(std::as_bytes(std::span(samples.labels)));
  return hash.Hex();
}

/// The rows of a NumPy file.
class NpySamples final : public SampleSource {
 public:
  explicit NpySamples(std::string path)
      : path_(std::move(path)), count_(ReadArrayForm("npy", path_).dims.at(0)) {}
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return 1; }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override {
    Check(count > 0, "samples are asked for");
    std::vector<Tensor> read;
    read.push_back(ReadNpy(path_, {first, count}));
    return read;
  }

 private:
  std::string path_;
  std::int64_t count_;
};

/// Appends `part` to `whole` along the outermost dimension, whose final size is known.
void CopyRows(const Tensor& part, std::int64_t first, Tensor& whole) {
  if (part.bytes() == 0) return;
  const std::size_t row = part.bytes() / static_cast<std::size_t>(part.dims()[0]);
  std::memcpy(whole.MutableRaw().data() + static_cast<std::size_t>(first) * row, part.Raw().data(),
              part.bytes());
}

}  // namespace

std::vector<Tensor> ReferenceOutputs(const Preparation& preparation,
                                     const TargetRegistry& targets) {
  const EvaluationSettings& settings = preparation.settings;
  const Tensor& inputs = preparation.samples->inputs;
  Strategy uncompressed;
  uncompressed.target = settings.target;
  auto built =
      BuildCandidate(*preparation.graph, uncompressed, targets, {settings.threads, settings.batch});
  if (!built.ok()) {
    throw UserError("the uncompressed model does not run on '" + settings.target +
                    "': " + built.failure().detail);
  }
  std::vector<Tensor> outputs;
  ForEachBatch(built.value(), inputs, [&](std::int64_t first, std::span<const Tensor> batch) {
    if (outputs.empty()) {
      for (const Tensor& part : batch) {
        Dims dims = part.dims();
        dims[0] = inputs.dims()[0];
        outputs.emplace_back(part.dtype(), std::move(dims));
      }
    }
    for (std::size_t i = 0; i < batch.size(); ++i) CopyRows(batch[i], first, outputs[i]);
    return BatchVerdict::kGoOn;
  });
  return outputs;
}

PreparedFolder PrepareFolder(const std::string& path, const Preparation& preparation,
                             const TargetRegistry& targets) {
  const Dataset& samples = *preparation.samples;
  const std::vector<Tensor> reference = ReferenceOutputs(preparation, targets);
  MakeFolders(path);
  SaveGraph(*preparation.graph, GraphStem(path));
  WriteNpy(InputsPath(path), samples.inputs);
  if (!samples.labels.empty()) {
    WriteNpy(LabelsPath(path),
             Tensor::From<std::int32_t>(DType::kI32, {samples.size()}, samples.labels));
  }
  for (std::size_t i = 0; i < reference.size(); ++i) WriteNpy(ReferencePath(path, i), reference[i]);
  Manifest manifest;
  if (const SampleSource* calibration = preparation.calibration) {
    WriteNpy(CalibrationPath(path), *calibration);
    manifest.fit = {FitHash(*calibration, preparation.fit), preparation.fit};
  }
  manifest.graph_hash = GraphHash(*preparation.graph);
  manifest.samples_hash = HashSamples(samples);
  manifest.samples = samples.size();
  manifest.outputs = static_cast<std::int64_t>(reference.size());
  manifest.labelled = !samples.labels.empty();
  manifest.settings = preparation.settings;
  WriteFileAtomic(ManifestPath(path), ToJsonText(manifest, 2) + "\n");
  return OpenFolder(path);
}

PreparedFolder OpenFolder(const std::string& path) {
  constexpr std::uint64_t kLimit = 1U << 20U;
  const std::string file = ManifestPath(path);
  auto manifest = FromJsonText<Manifest>(ReadFile(file, kLimit), "'" + file + "'");
  PreparedFolder folder;
  folder.path = path;
  folder.graph_hash = std::move(manifest.graph_hash);
  folder.samples_hash = std::move(manifest.samples_hash);
  folder.samples = manifest.samples;
  folder.outputs = manifest.outputs;
  folder.labelled = manifest.labelled;
  folder.settings = std::move(manifest.settings);
  if (manifest.fit) {
    folder.fit_hash = std::move(manifest.fit->hash);
    folder.fit = std::move(manifest.fit->options);
  }
  return folder;
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

Tensor LoadInputs(const PreparedFolder& folder, const RowRange& rows) {
  return ReadNpy(InputsPath(folder.path), rows);
}

std::vector<std::int32_t> LoadLabels(const PreparedFolder& folder, const RowRange& rows) {
  if (!folder.labelled) return {};
  const Tensor labels = ReadNpy(LabelsPath(folder.path), rows);
  const auto values = labels.Values<std::int32_t>();
  return {values.begin(), values.end()};
}

std::unique_ptr<SampleSource> OpenCalibration(const PreparedFolder& folder) {
  Check(!folder.fit_hash.empty(), "a folder whose calibration samples are read has some");
  return std::make_unique<NpySamples>(CalibrationPath(folder.path));
}

std::vector<Tensor> LoadReference(const PreparedFolder& folder, const RowRange& rows) {
  std::vector<Tensor> outputs;
  outputs.reserve(static_cast<std::size_t>(folder.outputs));
  for (std::size_t i = 0; i < static_cast<std::size_t>(folder.outputs); ++i) {
    outputs.push_back(ReadNpy(ReferencePath(folder.path, i), rows));
  }
  return outputs;
}

}  // namespace msc::cost
