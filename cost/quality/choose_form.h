#pragma once

#include <map>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/observe.h"
#include "compiler/targets/target.h"

namespace msc::cost {

/// Chooses the form of every output of a canonical graph: the one in `given` by the output's name,
/// or one that follows from the end of the graph (output_end.h), the type, the outputs of the
/// uncompressed model on some samples, one [N, ...] per output, and, where these leave it open, the
/// name of the output. Few samples and random ones say less than samples that resemble real use.
/// UserError if `given` names no output, which lists those there are.
[[nodiscard]] OutputForms ChooseForms(const Graph& graph, std::span<const Tensor> outputs,
                                      const std::map<std::string, OutputForm>& given);

/// Likewise, from the outputs for the first samples, computed as `run` says. UserError also as
/// ObserveValues.
[[nodiscard]] OutputForms ChooseForms(const Graph& graph, const SampleSource& samples,
                                      const CalibrationRun& run, const TargetRegistry& registry,
                                      const std::map<std::string, OutputForm>& given);

/// Returns "output 'probs': probabilities along axis 1", for all outputs.
[[nodiscard]] std::string FormatForms(const OutputForms& forms);

}  // namespace msc::cost
