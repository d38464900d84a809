#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/observe.h"
#include "cost/model/outcome.h"
#include "cost/quality/dataset.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// How many samples serve for calibration where nobody says it and there are so many.
inline constexpr std::int64_t kCalibrationSamples = 512;

/// The samples of a subcommand that works on one model.
struct SampleOptions {
  cost::DataConfig data;                ///< form and normalisation of both kinds
  std::string images;                   ///< for calibration
  std::optional<std::int64_t> samples;  ///< else kCalibrationSamples, or all where there are fewer
  std::string test_images;
  std::string test_labels;
  std::int64_t test_samples = 0;
};

/// --format, --mean, --std, --layout, --resize and --shuffle: how samples become what a model
/// takes.
void AddFormOptions(CLI::App& command, cost::DataConfig& data);
/// --calibration, --samples, --test, --labels, --test-samples, and those of AddFormOptions.
void AddSampleOptions(CLI::App& command, SampleOptions& options);
/// UserError where options contradict each other.
void CheckSampleOptions(const SampleOptions& options);

/// Samples for the one input of `graph`, in the form that `form` says; `labels` may be empty,
/// `count` 0 for all. UserError as LoadDataset, and for graphs with several inputs.
[[nodiscard]] cost::Dataset LoadSamples(const cost::DataConfig& form, const Graph& graph,
                                        const std::string& images, const std::string& labels,
                                        std::int64_t count);

/// Samples for all inputs of `graph`, read as they are asked for: as LoadSamples, and for several
/// inputs or integers an archive with one array an input (DatasetSamples).
[[nodiscard]] std::unique_ptr<cost::DatasetSamples> OpenSamples(const cost::DataConfig& form,
                                                                const Graph& graph,
                                                                const std::string& images,
                                                                const std::string& labels,
                                                                std::int64_t count);

/// The samples for calibration, as OpenSamples.
[[nodiscard]] std::unique_ptr<cost::DatasetSamples> OpenCalibration(const SampleOptions& options,
                                                                    const Graph& graph,
                                                                    const std::string& labels);

/// The test samples, as OpenSamples. UserError where no file of them is named.
[[nodiscard]] cost::SampleSet LoadTest(const SampleOptions& options, const Graph& graph);

/// Outputs of a model beside those of the f32 model.
struct Judged {
  cost::Quality quality;
  double cosine = 1;         ///< of the first outputs, mean over samples
  std::string failure = {};  ///< why none of it is known; empty where it is
};

/// A model as test samples show it.
struct LookedAt {
  Judged judged;
  std::vector<Tensor> inputs = {};   ///< of a failure: the batch whose outputs were refused
  std::vector<Tensor> outputs = {};  ///< and those
};

/// Compares models with one model on the test samples. Keeps that model's outputs.
class TestJudge {
 public:
  TestJudge(cost::SampleSet test, const Graph& before, CalibrationRun run,
            const TargetRegistry& targets);
  /// `after` may hold Q/DQ and Cast nodes. UserError where its outputs are not those of a model.
  [[nodiscard]] cost::Quality Judge(const Graph& after) const;
  /// As Judge, with more, and where outputs are not those of a model it says so.
  [[nodiscard]] LookedAt Look(const Graph& after) const;
  [[nodiscard]] bool labelled() const { return !test_.labels.empty(); }
  [[nodiscard]] std::int64_t samples() const { return test_.size(); }
  /// How often a model was run over all of them so far, the first one included.
  [[nodiscard]] std::int64_t passes() const { return passes_; }

 private:
  using Batches = std::vector<std::vector<Tensor>>;
  [[nodiscard]] Batches Outputs(const Graph& graph) const;

  cost::SampleSet test_;
  CalibrationRun run_;
  const TargetRegistry& targets_;
  mutable std::int64_t passes_ = 0;
  Batches wanted_;
};

}  // namespace msc::gym
