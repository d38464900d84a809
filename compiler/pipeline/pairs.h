#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/compress/quantize/saturation.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// PairSums of the plan's int8 layers, by name, at no more than 64 output positions of the first
/// batch of the samples. `graph` is what the plan is applied to, with the weights that it rounds.
/// Layers whose form is not known (ReadLinearForm) are left out. UserError as ObserveValues.
[[nodiscard]] std::map<std::string, PairSums> CheckPairs(const QuantizePlan& plan,
                                                         const Graph& graph,
                                                         const SampleSource& samples,
                                                         const CalibrationRun& run,
                                                         const TargetRegistry& registry);

/// The layer that loses most.
struct WorstPairs {
  std::string layer;
  double saturated = 0;  ///< share of its outputs, > 0
};
/// Nothing where no output was lost.
[[nodiscard]] std::optional<WorstPairs> FindWorstPairs(
    const std::map<std::string, PairSums>& pairs);

/// Says what the worst layer loses elsewhere and what helps, as a warning where this machine has no
/// VNNI itself, else as a note.
[[nodiscard]] std::string PairsText(const WorstPairs& worst, bool has_vnni);

}  // namespace msc
