#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/app/samples.h"
#include "gym/search/config.h"

namespace msc::gym {

/// What a user of `mscgym optimize` asks for. Only the model and the samples are needed.
struct OptimizeRequest {
  std::string model;
  std::vector<std::string> shapes;
  SampleOptions samples;         ///< `images` for calibration and `test_images` to judge; see Split
  std::optional<double> faster;  ///< times as fast as our f32 model; then the loss is minimized
  double seconds = 600;          ///< of wall time, everything included
  std::string target = "auto";
  int threads = 1;
  std::uint64_t seed = 0;
};

/// A config that `mscgym search` runs, and why it is as it is.
struct OptimizePlan {
  SearchConfig config;
  std::vector<std::string> reasons;  ///< one sentence each
};

/// Decides how to search: which samples calibrate and which judge, which limits hold, what can be
/// decided (channels, precisions or both), which target runs it (the one on which the model was
/// fastest, in f32 or int8) and how many samples a trial sees. Runs the f32 model on
/// a few samples to learn what its outputs are, what they can lose, and how long it takes; if that
/// is long, fewer samples calibrate. Ranges of int8 layers are chosen by mse, and their weights
/// rounded by GPTQ. Where GPTQ
/// would take too long, the search trains its best trials, if the model can be trained and there is
/// time for it. Within limits only the latency is minimized. Without limits in the request, the
/// guard's bounds are limits, and half a percent point of accuracy where class numbers are known.
/// `began`: when the time of the request started. UserError if the samples do not fit the model,
/// are too few, a limit names a loss that the outputs do not have, or nothing can be compressed.
[[nodiscard]] OptimizePlan PlanOptimize(const OptimizeRequest& request,
                                        std::chrono::steady_clock::time_point began);

/// Which of `count` samples of one source calibrate (the first ones) and which judge.
struct SampleSplit {
  std::int64_t calibrate = 0;
  std::int64_t judge = 0;
};
/// Returns a quarter for calibration, at most kCalibrationSamples / 2. UserError if there are fewer
/// than 8 samples.
[[nodiscard]] SampleSplit Split(std::int64_t count);

}  // namespace msc::gym
