#include "gym/search/tasks/quantize.h"

#include <utility>

#include "envs/quantize/quantize_env.h"
#include "gym/search/calibration.h"
#include "gym/search/config.h"
#include "gym/search/prepare.h"

namespace msc::gym {

QuantizeTask::QuantizeTask()
    : SearchTask({.id = "Quantize-v0",
                  .summary = "precision of every layer: f32, bf16 or int8; measured",
                  .nondeterministic = true},
                 "quantize") {}

std::optional<FitOptions> QuantizeTask::FitOf(const SearchConfig& config) const {
  if (!envs::FitsWeights(config.section<envs::QuantizeConfig>())) return std::nullopt;
  return FitOptionsOf(config);
}

ProblemFactory QuantizeTask::Prepare(const Preparation& preparation) const {
  envs::QuantizeContext context;
  context.quantize = preparation.config.section<envs::QuantizeConfig>();
  CalibratedScales calibrated = Calibrate(preparation);
  context.scales = std::move(calibrated.scales);
  context.scales_by_range = std::move(calibrated.by_range);
  context.unsupported = FindUnsupported(preparation, context.scales, {}).own;
  preparation.prepared.unsupported = context.unsupported;
  return [context](const envs::ModelContext& model) mutable {
    static_cast<envs::ModelContext&>(context) = model;
    return envs::MakeQuantizeProblem(context);
  };
}

}  // namespace msc::gym
