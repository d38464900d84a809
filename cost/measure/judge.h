#pragma once

#include <optional>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/measure/build.h"
#include "cost/measure/folder.h"
#include "cost/quality/array_file.h"
#include "cost/quality/quality.h"

namespace msc::cost {

/// Whether outputs that a meter saw are those of another computation than the uncompressed model's:
/// constant while the reference's vary, or, where nothing is pruned and no layer is int8, further
/// from it than the widest precision of the strategy excuses (settings).
[[nodiscard]] std::optional<Failure> JudgeOutputs(const QualityMeter& meter,
                                                  const Strategy& strategy,
                                                  const EvaluationSettings& settings);

/// What is asked of JudgeDecisions.
struct DecisionQuestion {
  const PreparedFolder* folder = nullptr;
  const Graph* graph = nullptr;  ///< canonical
  const TargetRegistry* targets = nullptr;
  const Strategy* strategy = nullptr;  ///< without a hash of the model
  BuiltCandidate* built = nullptr;     ///< the candidate whose outputs were refused
  RowRange rows;                       ///< samples on which they were
};

/// A second look at outputs that JudgeOutputs refused as `failure`, of a graph whose end takes
/// decisions (FindEnding): a precision that moves logits by 1 % takes another class where two are
/// as likely, and a probability then is off by all of its range. The candidate and the uncompressed
/// model are built again to give the values before the end too: those must be as close as
/// JudgeOutputs asks of outputs, and the outputs of the candidate must follow from them. Nothing
/// where they do, else `failure`.
[[nodiscard]] std::optional<Failure> JudgeDecisions(const DecisionQuestion& question,
                                                    const Failure& failure);

}  // namespace msc::cost
