#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "cost/measure/metric.h"
#include "cost/quality/guard.h"
#include "cost/quality/verdict.h"
#include "cost/samples/dataset.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// Default number of calibration samples, if there are so many.
inline constexpr std::int64_t kCalibrationSamples = 512;

/// How outputs are judged.
struct JudgeOptions {
  std::map<std::string, OutputForm> outputs;  ///< forms of --output, by output
  cost::MetricSpecs metrics;                  ///< of --metric
  cost::Guard guard;                          ///< bounds of what is not suspicious
  cost::QualityLimits limits = {};            ///< of --limit
};

/// Sample options of a subcommand that works on one model.
struct SampleOptions {
  cost::DataConfig data;                ///< form and normalisation of calibration and test samples
  std::string images;                   ///< for calibration
  std::optional<std::int64_t> samples;  ///< default: kCalibrationSamples, or all if there are fewer
  std::string test_images;
  cost::LabelPaths test_labels;
  std::int64_t test_samples = 0;
  JudgeOptions judged;
};

/// Adds --format, --scale, --mean, --resize and others, which convert samples to model inputs.
void AddFormOptions(CLI::App& command, cost::DataConfig& data);
/// Adds --output, which says what outputs are, --metric, --limit, and --guard-disagreement and
/// --guard-error, beyond which results are suspicious. `samples` says which these are on.
void AddJudgeOptions(CLI::App& command, JudgeOptions& options,
                     const std::string& samples = "--test");
/// Adds --labels, --alphabet and --box-units, which say what outputs should be on --test.
void AddLabelOptions(CLI::App& command, cost::LabelPaths& labels, cost::DataConfig& data);
/// Adds --calibration, --samples, --test and --test-samples, and those of AddFormOptions,
/// AddJudgeOptions and AddLabelOptions.
void AddSampleOptions(CLI::App& command, SampleOptions& options);
/// Throws UserError if these need test samples and there are none, or if a limit names no loss.
void CheckJudgeOptions(const JudgeOptions& options, const std::string& test_images);
/// Throws UserError if options contradict each other.
void CheckSampleOptions(const SampleOptions& options);

/// Decides where `graph` counts samples (DecideSampleLayout) and says so on stderr if it is not
/// along the first axis of all inputs and outputs. To be called before samples are opened. `images`
/// are the files that the command reads; empty ones are left out.
void PlaceSamplesOf(Graph& graph, const cost::DataConfig& form,
                    const std::vector<std::string>& images);

/// Loads samples for the single f32 input of `graph` in the form of `form`, and prints on stderr
/// what they look like. `labels` may be empty; `count` 0 loads all. UserError as LoadDataset, and
/// for graphs with other inputs.
[[nodiscard]] cost::Dataset LoadSamples(const cost::DataConfig& form, const Graph& graph,
                                        const std::string& images, const cost::LabelPaths& labels,
                                        std::int64_t count);

/// Opens samples for all inputs of `graph`, read on demand. Arguments as for LoadSamples; for
/// several inputs or integers, `images` is an archive with one array per input (DatasetSamples).
[[nodiscard]] std::unique_ptr<cost::DatasetSamples> OpenSamples(const cost::DataConfig& form,
                                                                const Graph& graph,
                                                                const std::string& images,
                                                                const cost::LabelPaths& labels,
                                                                std::int64_t count);

/// Opens the calibration samples, as OpenSamples, and prints on stderr what they look like.
[[nodiscard]] std::unique_ptr<cost::DatasetSamples> OpenCalibration(const SampleOptions& options,
                                                                    const Graph& graph,
                                                                    const std::string& labels);

/// Samples to compare models on, read on demand, with their labels.
struct TestSamples {
  std::shared_ptr<const SampleSource> source;
  std::vector<std::int32_t> labels = {};            ///< class numbers for metrics, or none
  std::vector<cost::SampleLabels> all_labels = {};  ///< of any kind, or none
};
/// Returns samples with their labels.
[[nodiscard]] TestSamples WithLabels(std::unique_ptr<cost::DatasetSamples> samples);

/// Opens the test samples, as OpenSamples, and prints on stderr what they look like. UserError if
/// no test file is named.
[[nodiscard]] TestSamples OpenTest(const SampleOptions& options, const Graph& graph);

}  // namespace msc::gym
