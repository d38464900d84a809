#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/sample_source.h"
#include "compiler/targets/target.h"
#include "cost/quality/verdict.h"
#include "cost/track/stage.h"
#include "gym/app/limits.h"
#include "gym/app/samples.h"
#include "gym/app/test_judge.h"
#include "gym/console/progress_line.h"

namespace msc::gym {

/// How the outputs of a stage compare with those of the baseline.
struct StageOutputs {
  std::string stage;
  Judged judged = {};
  std::vector<LimitVerdict> limits = {};
  std::vector<std::string> suspicions = {};  ///< one sentence each (cost/quality/guard.h)
  /// Returns whether the outputs could be compared, keep all limits and are not suspicious.
  [[nodiscard]] bool hold() const;
};

/// What JudgeStages needs.
struct StagesToJudge {
  std::shared_ptr<const SampleSource> samples;  ///< nullptr if there are none
  const cost::TrackStage& baseline;
  std::vector<const cost::TrackStage*> stages = {};
  JudgeOptions judged = {};
  int threads = 1;  ///< of the reference kernels
};

/// The outputs of all stages.
struct OutputsReport {
  std::vector<StageOutputs> stages;
  std::string not_judged = {};  ///< why there are no stages; empty if there are
};

/// Compares the outputs of every stage, as it is without additional outputs, with those of the
/// baseline on all samples that fill a call (TestJudge). Shows progress and the time that is left.
/// Where outputs cannot be compared, such as strings, the report says why. UserError instead if
/// --output, --metric or --limit asks for a comparison, and if a stage does not compile.
[[nodiscard]] OutputsReport JudgeStages(const StagesToJudge& in, const TargetRegistry& targets,
                                        ProgressLine& line);

}  // namespace msc::gym
