#include "gym/app/samples.h"

#include <algorithm>
#include <span>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/samples.h"
#include "compiler/targets/spec.h"
#include "cost/quality/choose_form.h"
#include "cost/quality/quality.h"
#include "gym/app/options.h"
#include "gym/search/model.h"

namespace msc::gym {
namespace {

const Shape& InputShape(const Graph& graph) {
  if (graph.inputs().size() != 1) {
    throw UserError("samples are read for models with one input; this one has " +
                    std::to_string(graph.inputs().size()));
  }
  const auto& shape = graph.type(graph.inputs()[0]).shape;
  if (!shape) throw UserError("the model's input has no known rank");
  return *shape;
}

cost::DataConfig Named(const cost::DataConfig& form, const std::string& images,
                       const std::string& labels, std::int64_t count) {
  cost::DataConfig data = form;
  data.images = images;
  data.labels = labels;
  data.count = count;
  return data;
}

/// Reads "NAME=KIND" or "NAME=KIND:key=value,key=value", with the keys of OutputForm.
void ReadOutput(const std::string& text, std::map<std::string, OutputForm>& outputs) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UserError("--output '" + text + "' must be NAME=KIND or NAME=KIND:key=value");
  }
  const TargetSpec spec = ParseTargetSpec(text.substr(equals + 1));
  nlohmann::json form = {{"kind", spec.name}};
  for (const auto& [key, value] : spec.options) {
    const nlohmann::json number = nlohmann::json::parse(value, nullptr, false);
    form[key] = number.is_discarded() ? nlohmann::json(value) : number;
  }
  outputs[text.substr(0, equals)] =
      FromJsonText<OutputForm>(form.dump(), "--output " + text.substr(0, equals));
}

}  // namespace

void AddFormOptions(CLI::App& command, cost::DataConfig& data) {
  AddSetting(command, "--format", data.format,
             CLI::IsMember({"auto", "idx", "npy", "npz", "csv", "folder"}),
             "format of all samples: idx, npy, npz (FILE.npz:NAME; for several inputs or "
             "integers, FILE.npz with one array per input, under its name), csv, or folder of "
             "images; auto = recognised by the name");
  command.add_option("--mean", data.mean,
                     "subtracted from samples: one number, or one per channel");
  command.add_option("--std", data.std, "divisor of samples: one number, or one per channel");
  AddSetting(command, "--layout", data.layout, CLI::IsMember({"as_is", "hwc"}),
             "layout of arrays: as_is, or hwc if they have channels last and the model has "
             "channels first");
  command.add_flag("--resize", data.resize,
                   "scale images of a folder to the input size of the model");
  AddSetting(command, "--shuffle", data.shuffle,
             "seed of a random order, for a random subset of the samples; 0 = order of the file");
}

void AddJudgeOptions(CLI::App& command, JudgeOptions& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--output",
          [&outputs = options.outputs](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) ReadOutput(text, outputs);
          },
          "what an output is, where it is found wrongly: NAME=logits, NAME=ctc:axis=2,blank=0 "
          "(docs/quality.md); may be repeated")
      ->expected(1)
      ->take_all();
  command
      .add_option_function<std::vector<std::string>>(
          "--metric",
          [&metrics = options.metrics](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) ReadMetric(text, metrics);
          },
          "metric of your own on --test: NAME=lower:COMMAND, or higher, whichever is better, such "
          "as \"wer=lower:python3 wer.py\" (docs/metrics.md); may be repeated")
      ->expected(1)
      ->take_all();
  command
      .add_option("--guard-disagreement", options.guard.disagreement,
                  "percent of decisions that may change on --test before the result is suspicious "
                  "and the exit code 3; default: 2")
      ->check(CLI::Range(0.0, 100.0));
  AddSetting(command, "--guard-error", options.guard.relative_error, CLI::Range(0.0, 1e9),
             "relative error beyond which the result is suspicious; 0 = any is accepted");
}

void AddSampleOptions(CLI::App& command, SampleOptions& options) {
  command.add_option(
      "--calibration", options.images,
      "samples that resemble the inputs in real use, for calibration; labels are not needed");
  command
      .add_option("--samples", options.samples,
                  "number of samples of --calibration; default: " +
                      std::to_string(kCalibrationSamples) + ", or all if there are fewer")
      ->check(CLI::Range(1, 10000000));
  AddFormOptions(command, options.data);
  AddJudgeOptions(command, options.judged);
  command.add_option("--test", options.test_images,
                     "samples on which to compare the models before and after");
  command.add_option("--labels", options.test_labels, "class numbers of --test");
  AddSetting(command, "--test-samples", options.test_samples, CLI::Range(0, 10000000),
             "number of samples of --test; 0 = all");
}

void CheckSampleOptions(const SampleOptions& options) {
  if (!options.test_labels.empty() && options.test_images.empty()) {
    throw UserError("--labels needs --test");
  }
  if (!options.judged.metrics.empty() && options.test_images.empty()) {
    throw UserError("--metric needs --test");
  }
}

cost::Dataset LoadSamples(const cost::DataConfig& form, const Graph& graph,
                          const std::string& images, const std::string& labels,
                          std::int64_t count) {
  return cost::LoadDataset(Named(form, images, labels, count), InputShape(graph), ClassesOf(graph));
}

std::unique_ptr<cost::DatasetSamples> OpenSamples(const cost::DataConfig& form, const Graph& graph,
                                                  const std::string& images,
                                                  const std::string& labels, std::int64_t count) {
  auto samples =
      std::make_unique<cost::DatasetSamples>(Named(form, images, labels, count), FormsOf(graph));
  samples->CheckLabels(ClassesOf(graph));
  return samples;
}

std::unique_ptr<cost::DatasetSamples> OpenCalibration(const SampleOptions& options,
                                                      const Graph& graph,
                                                      const std::string& labels) {
  cost::DataConfig form = options.data;
  form.or_fewer = !options.samples.has_value();
  return OpenSamples(form, graph, options.images, labels,
                     options.samples.value_or(kCalibrationSamples));
}

cost::SampleSet LoadTest(const SampleOptions& options, const Graph& graph) {
  if (options.test_images.empty()) throw UserError("give --test: samples to compare the models on");
  return cost::LoadSampleSet(
      Named(options.data, options.test_images, options.test_labels, options.test_samples),
      FormsOf(graph), ClassesOf(graph));
}

TestJudge::TestJudge(cost::SampleSet test, const Graph& before, CalibrationRun run,
                     const TargetRegistry& targets, const JudgeOptions& options)
    : test_(std::move(test)), run_(std::move(run)), targets_(targets) {
  run_.batch = 64;
  wanted_ = Outputs(before);
  const std::vector<Tensor> wanted = JoinBatches(wanted_);
  forms_ = cost::ChooseForms(before, wanted, options.outputs);
  if (options.metrics.empty()) return;
  metrics_ = std::make_unique<TestMetrics>(options.metrics, test_, before, wanted, run_.threads);
}

TestJudge::Batches TestJudge::Outputs(const Graph& graph) const {
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  Batches batches;
  ++passes_;
  ObserveValues(graph, names, TensorSamples(test_.inputs), run_, targets_,
                [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                  batches.emplace_back(values.begin(), values.end());
                });
  return batches;
}

cost::Quality TestJudge::Judge(const Graph& after) const {
  const Judged judged = Look(after).judged;
  if (!judged.failure.empty()) throw UserError("the compressed model: " + judged.failure);
  return judged.quality;
}

LookedAt TestJudge::Look(const Graph& after) const {
  const Batches got = Outputs(after);
  cost::QualityMeter meter(forms_);
  LookedAt looked;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const std::int64_t rows = wanted_[i].at(0).dims().at(0);
    std::span<const std::int32_t> labels = test_.labels;
    if (!labels.empty()) {
      labels = labels.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
    }
    if (const auto failure = meter.Add(wanted_[i], got.at(i), labels)) {
      looked.judged.failure = failure->detail;
      for (const Tensor& input : test_.inputs) looked.inputs.push_back(Rows(input, first, rows));
      looked.outputs = got[i];
      return looked;
    }
    first += rows;
  }
  looked.judged.quality = meter.Total();
  if (metrics_) looked.judged.quality.metrics = metrics_->Measure(JoinBatches(got));
  return looked;
}

}  // namespace msc::gym
