#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "cost/samples/data_config.h"

namespace msc::gym {

/// Decides where the inputs and outputs of `graph` count samples and stores it (SetSampleAxis).
///
/// Inputs follow cost::PlaceSamples over all `data` that names files, of which the first decides.
/// An output counts samples along the axis whose size follows the batch; if there is none, a call
/// takes one sample. What `batch_axis` of any data names precedes. UserError for files that cannot
/// be read, data that contradict each other, and names that are neither input nor output.
void DecideSampleLayout(Graph& graph, std::span<const cost::DataConfig> data);

/// Returns a line for each input and output that does not have samples along axis 0.
[[nodiscard]] std::vector<std::string> LayoutLines(const Graph& graph);

}  // namespace msc::gym
