#pragma once

#include <span>
#include <vector>

#include "compiler/ir/sample_axes.h"
#include "cost/samples/data_config.h"
#include "cost/samples/sample_dims.h"

namespace msc::cost {

/// Returns where each input counts samples, from its shape and the shapes in the files, of which
/// headers are read alone. `inputs` have the axes that are known so far.
///
/// The rule is axis 0. An input has none if a sample has the shape of the whole input ([12] for an
/// input [12]), or if it is a scalar: a call then takes one sample. It is shared if its array holds
/// one sample for all, and if it is a scalar of `config.constants`. `config.batch_axis` precedes.
/// UserError for files that cannot be read and for names of no input.
[[nodiscard]] std::vector<SampleAxis> PlaceSamples(const DataConfig& config,
                                                   std::span<const InputForm> inputs);

}  // namespace msc::cost
