#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/fit.h"
#include "compiler/strategy/strategy.h"
#include "cost/samples/dataset.h"
#include "envs/common/model_context.h"
#include "gym/search/task.h"

namespace msc::gym {

class SearchListener;
struct CalibrationConfig;

/// Reports what samples look like, and warns where they hardly resemble real use.
void ReportSamples(const std::string& what, const cost::DatasetSamples& samples,
                   SearchListener& listener);

/// The calibration samples of a config, read on first use and then reported to `listener`, if there
/// is one. All arguments outlive it.
class CalibrationSamples {
 public:
  CalibrationSamples(const CalibrationConfig& config, const Graph& graph,
                     SearchListener* listener = nullptr)
      : config_(config), graph_(graph), listener_(listener) {}
  /// Throws UserError if the config names no samples, or they do not fit the model.
  [[nodiscard]] const SampleSource& Get();

 private:
  const CalibrationConfig& config_;
  const Graph& graph_;
  SearchListener* listener_;
  std::optional<cost::DatasetSamples> samples_;
};

/// Returns the target that runs models in f32 on calibration samples: that of the search, but
/// onednn for native, which would have a compiler build kernels, for seconds, for each pruned
/// model and each of its parts that a fit runs.
[[nodiscard]] std::string FittingTarget(const std::string& target);
/// Returns how the model runs on calibration samples.
[[nodiscard]] CalibrationRun CalibrationRunOf(const SearchConfig& config);
/// Returns how candidates are fitted to the calibration samples.
[[nodiscard]] FitOptions FitOptionsOf(const SearchConfig& config);

/// Scales of activations by tensor name.
struct CalibratedScales {
  std::map<std::string, TensorScale> scales;
  /// Scales by each method of the config's quantize.ranges.
  std::map<std::string, std::map<std::string, TensorScale>> by_range;
};
/// Runs the model on the calibration samples and returns the scales. A run finds them once and
/// keeps them in scales.json. UserError if that file belongs to another model or config.
[[nodiscard]] CalibratedScales Calibrate(const Preparation& preparation);

/// Returns scores of the units of PruneSpace by the config's prune.score, from the weights or from
/// the calibration samples. In the second case a run finds them once and keeps them in
/// unit_scores.json. UserError if that file belongs to another model or config.
[[nodiscard]] std::vector<double> ScoreUnits(const Preparation& preparation);

/// Finds the precisions that the config's target and the task's other targets do not support, by
/// layer. A run finds them once and keeps them in unsupported.json, so that the choices stay the
/// same. UserError if that file was made with other targets.
struct UnsupportedOnTargets {
  envs::UnsupportedPrecisions own;                                    ///< of the config's target
  std::map<std::string, envs::UnsupportedPrecisions> of_others = {};  ///< by spec
};
[[nodiscard]] UnsupportedOnTargets FindUnsupported(const Preparation& preparation,
                                                   const std::map<std::string, TensorScale>& scales,
                                                   const std::vector<std::string>& other_targets);

}  // namespace msc::gym
