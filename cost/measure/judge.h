#pragma once

#include <optional>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/measure/build.h"
#include "cost/measure/folder.h"
#include "cost/quality/quality.h"
#include "cost/samples/array_file.h"

namespace msc::cost {

/// Returns a failure if the outputs that a meter compared cannot be those of the same computation:
/// if they are constant while the reference varies, or further from the reference than the widest
/// precision of the strategy allows (settings). The second check does not apply to strategies with
/// pruned channels or int8 layers.
[[nodiscard]] std::optional<Failure> JudgeOutputs(const QualityMeter& meter,
                                                  const Strategy& strategy,
                                                  const EvaluationSettings& settings);

/// Arguments of JudgeDecisions.
struct DecisionQuestion {
  const PreparedFolder* folder = nullptr;
  const Graph* graph = nullptr;  ///< canonical
  const TargetRegistry* targets = nullptr;
  const Strategy* strategy = nullptr;  ///< with an empty model hash
  BuiltCandidate* built = nullptr;     ///< candidate whose outputs were rejected
  RowRange rows;                       ///< samples of these outputs
};

/// Judges rejected outputs again if the end of the graph takes decisions (FindEnding). A precision
/// that changes logits by 1 % changes the class if two are equally likely, and the error of a
/// probability is then as large as its range.
///
/// Builds the candidate and the uncompressed model again with the values in front of the end as
/// outputs. These values must be as close as JudgeOutputs demands, and the candidate's outputs must
/// follow from them. Returns nothing if so, else `failure`.
[[nodiscard]] std::optional<Failure> JudgeDecisions(const DecisionQuestion& question,
                                                    const Failure& failure);

}  // namespace msc::cost
