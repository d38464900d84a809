#include "gym/search/tasks/compress.h"

#include <algorithm>

#include "compiler/base/error.h"
#include "compiler/pipeline/train.h"
#include "envs/compress/compress_env.h"
#include "gym/report/report.h"
#include "gym/search/calibration.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/kernels.h"
#include "gym/search/layers.h"
#include "gym/search/prepare.h"
#include "gym/search/record.h"
#include "gym/search/report/recipe_words.h"
#include "gym/search/run_paths.h"

namespace msc::gym {
namespace {

bool TrainsCandidates(const SearchConfig& config) {
  const auto& epochs = config.section<envs::CompressConfig>().distill.epochs;
  return std::any_of(epochs.begin(), epochs.end(), [](std::int64_t count) { return count > 0; });
}

}  // namespace

CompressTask::CompressTask()
    : SearchTask({.id = "Compress-v0",
                  .summary = "channels of every group and precision of every layer, together with "
                             "further decisions that the config adds; measured",
                  .nondeterministic = true},
                 "compress") {}

void CompressTask::CheckConfig(const SearchConfig& config, const Graph& graph) const {
  if (!TrainsCandidates(config)) return;
  if (config.calibration.options.bits != 8) {
    throw UserError(
        "'compress.distill' trains with activations of 8 bits: set 'calibration.options.bits' to "
        "8");
  }
  CheckTrainable(graph);
}

std::vector<std::string> CompressTask::OtherTargets(const SearchConfig& config) const {
  return config.section<envs::CompressConfig>().targets;
}

std::optional<FitOptions> CompressTask::FitOf(const SearchConfig& config) const {
  return FitOptionsOf(config);
}

ProblemFactory CompressTask::Prepare(const Preparation& preparation) const {
  const SearchConfig& config = preparation.config;
  const Prepared& prepared = preparation.prepared;
  envs::CompressContext context;
  context.quantize = config.section<envs::QuantizeConfig>();
  context.compress = config.section<envs::CompressConfig>();
  CalibratedScales calibrated = Calibrate(preparation);
  context.scales = std::move(calibrated.scales);
  context.scales_by_range = std::move(calibrated.by_range);
  UnsupportedOnTargets unsupported =
      FindUnsupported(preparation, context.scales, context.compress.targets);
  preparation.prepared.unsupported = unsupported.own;
  context.unsupported = std::move(unsupported.own);
  context.unsupported_on = std::move(unsupported.of_others);
  if (context.compress.schedules > 0) {
    context.kernels =
        FindJointKernels(config, prepared, context.scales, preparation.paths.At("kernels.json"));
  }
  context.kernels_of = KernelFinder(config, prepared);
  static_cast<envs::ChannelContext&>(context) = PrepareChannels(preparation);
  return [context](const envs::ModelContext& model) mutable {
    static_cast<envs::ModelContext&>(context) = model;
    return envs::MakeCompressProblem(context);
  };
}

void CompressTask::AddFindings(const Graph& graph, const Strategy& best, Findings& findings) const {
  findings.kept = KeptShares(graph, best.prune);
}

void CompressTask::AddToReport(const SearchSetup& setup, const Findings& findings,
                               const RunPaths& /*paths*/, ReportInput& input) const {
  if (!TrainsCandidates(setup.config)) return;
  TellTraining(findings.best ? &findings.finalists.at(*findings.best).strategy : nullptr, input);
}

}  // namespace msc::gym
