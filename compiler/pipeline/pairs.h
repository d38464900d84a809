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

/// Returns the PairSums of the plan's int8 layers, by name, at no more than 64 output positions of
/// the first batch of the samples. `graph` is the graph that the plan is applied to, with the
/// weights that it rounds. Layers of unknown form (ReadLinearForm) are left out. UserError as
/// ObserveValues.
[[nodiscard]] std::map<std::string, PairSums> CheckPairs(const QuantizePlan& plan,
                                                         const Graph& graph,
                                                         const SampleSource& samples,
                                                         const CalibrationRun& run,
                                                         const TargetRegistry& registry);

/// The layer whose outputs saturate most.
struct WorstPairs {
  std::string layer;
  double saturated = 0;  ///< share of its outputs that saturate, > 0
};
/// Returns the worst layer; nullopt if no output saturates.
[[nodiscard]] std::optional<WorstPairs> FindWorstPairs(
    const std::map<std::string, PairSums>& pairs);

/// Returns a text about how often the worst layer saturates on CPUs without VNNI, and what helps: a
/// warning if this machine has no VNNI, else a note.
[[nodiscard]] std::string PairsText(const WorstPairs& worst, bool has_vnni);

}  // namespace msc
