#include "gym/app/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitting_batch.h"
#include "compiler/targets/spec.h"
#include "cost/quality/bind_labels.h"
#include "cost/quality/choose_form.h"
#include "cost/quality/quality.h"
#include "gym/app/limits.h"
#include "gym/app/options.h"
#include "gym/app/test_metrics.h"
#include "gym/search/model.h"
#include "gym/search/sample_layout.h"

namespace msc::gym {
namespace {

cost::DataConfig Named(const cost::DataConfig& form, const std::string& images,
                       const cost::LabelPaths& labels, std::int64_t count) {
  cost::DataConfig data = form;
  data.images = images;
  data.labels = labels;
  data.count = count;
  return data;
}

/// Throws UserError unless labels, if there are any, are one class of the model for each sample.
void RequireClassNumbers(const cost::DatasetSamples& samples, const Graph& graph) {
  if (!samples.all_labels().empty() && samples.labels().empty()) {
    throw UserError("'" + samples.all_labels()[0].path +
                    "' must hold one class number for each sample: only --labels, of --test, may "
                    "be others");
  }
  samples.CheckLabels(ClassesOf(graph));
}

/// Prints what samples look like on stderr.
void PrintSummary(const char* what, const cost::DatasetSamples& samples) {
  const std::vector<cost::InputSummary> inputs = samples.Summary();
  std::fprintf(stderr, "%s: %s", what, cost::FormatSummary(inputs, samples.count()).c_str());
  for (const std::string& warning : cost::WarningsOf(inputs)) {
    std::fprintf(stderr, "warning: %s: %s\n", what, warning.c_str());
  }
}

std::vector<std::string> NamesOf(const cost::MetricSpecs& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : metrics) names.push_back(name);
  return names;
}

/// Reads "x=1" or "x=none".
void ReadBatchAxis(const std::string& text, std::map<std::string, std::int64_t>& axes) {
  const std::size_t equals = text.rfind('=');  // names may contain '='
  const std::string word = equals == std::string::npos ? "" : text.substr(equals + 1);
  std::int64_t axis = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), axis);
  const bool number = error == std::errc() && end == word.data() + word.size() && axis >= 0;
  if (!number && word != "none") {
    throw UserError("--batch-axis '" + text + "': write NAME=AXIS, counted from 0, or NAME=none");
  }
  axes[text.substr(0, equals)] = number ? axis : -1;
}

/// Reads a number or a fraction such as "1/255".
double ReadNumber(const std::string& text, const std::string& option) {
  const auto number = [&](std::string_view part) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value)) {
      throw UserError(option + " '" + text + "': write a number or a fraction such as 1/255");
    }
    return value;
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return number(text);
  const double divisor = number(std::string_view(text).substr(slash + 1));
  if (divisor == 0) throw UserError(option + " '" + text + "' divides by 0");
  return number(std::string_view(text).substr(0, slash)) / divisor;
}

/// Reads "NAME=NUMBER".
void ReadConstant(const std::string& text, std::map<std::string, double>& constants) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) throw UserError("--constant '" + text + "': write NAME=NUMBER");
  constants[text.substr(0, equals)] = ReadNumber(text.substr(equals + 1), "--constant");
}

/// Reads "NAME=KIND" or "NAME=KIND:key=value,key=value", with the keys of OutputForm.
void ReadOutput(const std::string& text, std::map<std::string, OutputForm>& outputs) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UserError("--output '" + text + "' must be NAME=KIND or NAME=KIND:key=value");
  }
  const std::size_t colon = text.find(':', equals);
  nlohmann::json form = {{"kind", text.substr(equals + 1, colon - equals - 1)}};
  std::istringstream settings(colon == std::string::npos ? "" : text.substr(colon + 1));
  for (std::string setting; std::getline(settings, setting, ',');) {
    const std::size_t at = setting.find('=');
    const std::string key = setting.substr(0, at);
    if (at == std::string::npos || key.empty() || form.contains(key)) {
      throw UserError("--output '" + text + "': '" + setting +
                      "' must be key=value, each key once");
    }
    const std::string value = setting.substr(at + 1);
    const nlohmann::json number = nlohmann::json::parse(value, nullptr, false);
    form[key] = number.is_discarded() ? nlohmann::json(value) : number;
  }
  outputs[text.substr(0, equals)] =
      FromJsonText<OutputForm>(form.dump(), "--output " + text.substr(0, equals));
}

}  // namespace

namespace {

/// Adds an option whose every value goes to `take`; it may be repeated.
void AddTaken(CLI::App& command, const std::string& name, const std::string& help,
              const std::function<void(const std::string&)>& take) {
  command
      .add_option_function<std::vector<std::string>>(
          name,
          [take](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) take(text);
          },
          help)
      ->expected(1)
      ->take_all();
}

void AddImageOptions(CLI::App& command, cost::ImageFit& image) {
  // The option had no value once: alone, it still means stretch.
  command
      .add_option_function<std::string>(
          "--resize",
          [&image](const std::string& word) {
            image.resize = StringForm<cost::Resize>::Read(word.empty() ? "stretch" : word);
          },
          "scale images of a folder to the input size of the model: stretch, pad (keeps the "
          "proportions and fills the rest), crop (keeps them and cuts out the middle); stretch if "
          "nothing follows")
      ->expected(0, 1)
      ->check(CLI::IsMember({"none", "stretch", "pad", "crop"}));
  AddSetting(command, "--pad-value", image.pad_value, CLI::Range(0, 255),
             "byte that --resize pad fills with");
  command
      .add_option_function<std::string>(
          "--pad-at",
          [&image](const std::string& word) { image.pad_at = StringForm<cost::PadAt>::Read(word); },
          "where the image lies with --resize pad: center (the default) or top_left")
      ->check(CLI::IsMember({"center", "top_left"}));
  AddSetting(command, "--shorter-side", image.shorter_side, CLI::Range(0, 65536),
             "size of the shorter side before --resize crop cuts out the middle; 0 = the smallest "
             "that covers the model's sizes");
  command.add_flag("--antialias", image.antialias,
                   "average pixels where an image shrinks, as Pillow and torchvision do");
  command.add_flag("--bgr", image.bgr, "give images blue first, as OpenCV does");
}

}  // namespace

void AddFormOptions(CLI::App& command, cost::DataConfig& data) {
  AddSetting(command, "--format", data.format,
             CLI::IsMember({"auto", "idx", "npy", "npz", "csv", "folder"}),
             "format of all samples: idx, npy, npz (FILE.npz:NAME; for several inputs or "
             "integers, FILE.npz with one array per input, under its name), csv, or folder (of "
             "images, .wav, .npz or .npy files, one for each sample); auto = recognised by the "
             "name");
  command.add_option_function<std::string>(
      "--scale", [&data](const std::string& text) { data.scale = ReadNumber(text, "--scale"); },
      "factor of samples before the mean is subtracted, such as 1 or 1/255; default: 1/255 for "
      "bytes, else 1");
  command.add_option("--mean", data.mean,
                     "subtracted from samples: one number, or one per channel");
  command.add_option("--std", data.std, "divisor of samples: one number, or one per channel");
  AddSetting(command, "--layout", data.layout, CLI::IsMember({"as_is", "hwc"}),
             "layout of arrays: as_is, or hwc if they have channels last and the model has "
             "channels first");
  AddImageOptions(command, data.image);
  AddSetting(command, "--sample-rate", data.sample_rate, CLI::Range(0, 10000000),
             "samples per second that WAV files must have; 0 = any, the same for all");
  command.add_flag("--cut", data.cut,
                   "cut longer WAV files to the model's length, and fill up shorter ones with 0");
  AddTaken(command, "--constant",
           "NAME=NUMBER: an input that has one number for all samples, such as a threshold; may be "
           "repeated",
           [&data](const std::string& text) { ReadConstant(text, data.constants); });
  AddTaken(command, "--batch-axis",
           "NAME=AXIS or NAME=none: where an input or output counts samples, if that is not axis 0 "
           "and is not found; may be repeated",
           [&data](const std::string& text) { ReadBatchAxis(text, data.batch_axis); });
  AddSetting(command, "--shuffle", data.shuffle,
             "seed of a random order, for a random subset of the samples; 0 = order of the file");
}

void AddJudgeOptions(CLI::App& command, JudgeOptions& options, const std::string& samples) {
  AddTaken(command, "--output",
           "what an output is, where it is found wrongly: NAME=logits, NAME=ctc:axis=2,blank=0 "
           "(docs/quality.md); may be repeated",
           [&outputs = options.outputs](const std::string& text) { ReadOutput(text, outputs); });
  AddTaken(command, "--metric",
           "metric of your own on " + samples +
               ": NAME=lower:COMMAND, or higher, whichever is better, such as \"wer=lower:python3 "
               "wer.py\" (docs/metrics.md); may be repeated",
           [&metrics = options.metrics](const std::string& text) { ReadMetric(text, metrics); });
  AddLimitOption(command, options.limits);
  command
      .add_option("--guard-disagreement", options.guard.disagreement,
                  "percent of decisions that may change on " + samples +
                      " before the result is suspicious and the exit code 3; default: 2")
      ->check(CLI::Range(0.0, 100.0));
  AddSetting(command, "--guard-error", options.guard.relative_error, CLI::Range(0.0, 1e9),
             "relative error beyond which the result is suspicious; 0 = any is accepted");
}

void AddLabelOptions(CLI::App& command, cost::LabelPaths& labels, cost::DataConfig& data) {
  AddTaken(command, "--labels",
           "FILE or OUTPUT=FILE: what outputs should be on --test: class numbers, label maps, "
           "values, texts (.txt) or boxes (COCO .json), see docs/samples.md; may be repeated",
           [&labels](const std::string& text) { cost::AddLabels(text, labels); });
  command.add_option(
      "--alphabet", data.alphabet,
      "labels that are texts: file with the classes of the output, one on each line");
  command
      .add_option_function<std::string>(
          "--box-units",
          [&data](const std::string& word) {
            data.box_units = StringForm<cost::BoxUnits>::Read(word);
          },
          "labels that are boxes: unit of the output's boxes: pixels of the input, unit (shares of "
          "its sides), or auto (found)")
      ->check(CLI::IsMember({"auto", "pixels", "unit"}));
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
  AddLabelOptions(command, options.test_labels, options.data);
  AddSetting(command, "--test-samples", options.test_samples, CLI::Range(0, 10000000),
             "number of samples of --test; 0 = all");
}

void CheckJudgeOptions(const JudgeOptions& options, const std::string& test_images) {
  if (!options.metrics.empty() && test_images.empty()) throw UserError("--metric needs --test");
  if (!options.limits.empty() && test_images.empty()) throw UserError("--limit needs --test");
  CheckLimitNames(options.limits, NamesOf(options.metrics));
}

void CheckSampleOptions(const SampleOptions& options) {
  if (!options.test_labels.empty() && options.test_images.empty()) {
    throw UserError("--labels needs --test");
  }
  CheckJudgeOptions(options.judged, options.test_images);
}

void PlaceSamplesOf(Graph& graph, const cost::DataConfig& form,
                    const std::vector<std::string>& images) {
  std::vector<cost::DataConfig> data;
  for (const std::string& each : images) {
    if (!each.empty()) data.push_back(Named(form, each, "", 0));
  }
  DecideSampleLayout(graph, data);
  for (const std::string& line : LayoutLines(graph)) {
    std::fprintf(stderr, "note: %s\n", line.c_str());
  }
}

cost::Dataset LoadSamples(const cost::DataConfig& form, const Graph& graph,
                          const std::string& images, const cost::LabelPaths& labels,
                          std::int64_t count) {
  if (graph.inputs().size() != 1 || graph.type(graph.inputs()[0]).dtype != DType::kF32) {
    throw UserError("training reads samples for models with one input of 32-bit floats");
  }
  const auto samples = OpenSamples(form, graph, images, labels, count);
  RequireClassNumbers(*samples, graph);
  PrintSummary("training", *samples);
  cost::SampleSet all = cost::ReadAll(*samples, Named(form, images, labels, count));
  return {std::move(all.inputs[0]), std::move(all.labels)};
}

std::unique_ptr<cost::DatasetSamples> OpenSamples(const cost::DataConfig& form, const Graph& graph,
                                                  const std::string& images,
                                                  const cost::LabelPaths& labels,
                                                  std::int64_t count) {
  return std::make_unique<cost::DatasetSamples>(Named(form, images, labels, count), FormsOf(graph));
}

std::unique_ptr<cost::DatasetSamples> OpenCalibration(const SampleOptions& options,
                                                      const Graph& graph,
                                                      const std::string& labels) {
  cost::DataConfig form = options.data;
  form.or_fewer = !options.samples.has_value();
  auto samples = OpenSamples(form, graph, options.images, labels,
                             options.samples.value_or(kCalibrationSamples));
  RequireClassNumbers(*samples, graph);
  PrintSummary("calibration", *samples);
  return samples;
}

TestSamples WithLabels(std::unique_ptr<cost::DatasetSamples> samples) {
  TestSamples test;
  test.labels = samples->labels();
  test.all_labels = samples->all_labels();
  test.source = std::move(samples);
  return test;
}

TestSamples OpenTest(const SampleOptions& options, const Graph& graph) {
  if (options.test_images.empty()) throw UserError("give --test: samples to compare the models on");
  auto samples = OpenSamples(options.data, graph, options.test_images, options.test_labels,
                             options.test_samples);
  PrintSummary("test", *samples);
  return WithLabels(std::move(samples));
}

}  // namespace msc::gym
