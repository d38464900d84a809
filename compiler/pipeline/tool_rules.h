#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/compress/prune/choose.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/score.h"
#include "compiler/compress/rules/rules.h"
#include "compiler/ir/graph.h"
#include "compiler/pipeline/distill.h"
#include "compiler/pipeline/quantize.h"

namespace msc {

// Translates rules (compress/rules/rules.h) into options of the tools. Methods have MSCGym's names
// or those of the original tools. UserError, with the nearest name, for a method of another tool,
// an unknown option of a method, or an unknown stage of the tool.

/// Reads a rules file for a tool ("pruner", "quantizer", "distiller", "tracker") and checks its
/// names against `graph`. UserError that names the file, also if it is for another tool.
[[nodiscard]] RuleBook LoadRules(const std::string& path, const std::string& tool,
                                 const Graph& graph);

/// Returns a sentence for each option in rules that has no effect here.
[[nodiscard]] std::vector<std::string> PassedOver(const RuleBook& book);

/// How every group of channels is scored and cut: by the rule for the weights of its first layer,
/// at stage "prune". Groups without a rule stay whole.
///   l1, l2, fpgm, random, energy, obs, taylor   {density, align}
///   per_channel                                 {density, stride}: l1, aligned to 8 without stride
/// Counts are rounded to the nearest multiple, not up as in the original tools.
struct PruneRules {
  PruneRequest request;                         ///< densities and alignments
  std::map<std::string, ScoreMethod> of_group;  ///< method of each group that is cut
};
/// Reads the rules of a pruner. Ignores rules for outputs, since outputs follow from their layers.
/// UserError if a rule names a layer that cannot be cut, or that is cut with another layer without
/// the same density.
[[nodiscard]] PruneRules ReadPruneRules(const RuleBook& book, const Graph& graph,
                                        const PruneSpace& space);

/// Puts precisions, bits and ranges into `options`. A layer whose input and weights both have a
/// rule at stage "quantize" is int8; a layer whose weights alone have one is f32 with quantized
/// weights; others stay f32. nbits = -1 counts as no rule. nbits of an input are the activation's
/// bits, by the first layer that reads it.
///   quantize   quantize_normal, int8 {nbits}; f32; for outputs also dequantize_normal
///   calibrate  calibrate_maxmin, calibrate_kl_divergence, or minmax, percentile {percentile},
///              entropy, mse {affine}; the rest by `options.scales`
///   gather     gather_maxmin, gather_kl_divergence, gather_max_per_channel: no effect, since
///              histograms serve every range
/// A rule at stage "default" counts at the stage that has its method.
void ReadQuantizeRules(const RuleBook& book, const Graph& graph, QuantizeOptions& options);

/// Puts losses of outputs (mark "loss") into `settings`, and returns those of values inside the
/// model.
///   loss_lp_norm {power, weight}, loss_kl_divergence {temperature, softmax_dim, weight},
///   attention {power, weight} (only values inside the model)
/// The softmax is along the last axis. UserError for another softmax_dim, and if no rule picks
/// anything.
[[nodiscard]] std::vector<DistillFeature> ReadDistillRules(const RuleBook& book, const Graph& graph,
                                                           TrainSettings& settings);

/// Values that rules pick for save_compared or watch, in graph order.
struct TrackRules {
  std::vector<std::string> all;        ///< at any stage; "baseline" only collects values
  std::vector<std::string> optimized;  ///< at stage "optimize", where they are compared
  std::vector<std::string> compiled;   ///< at stage "compile", compared in the compiled model
};
[[nodiscard]] TrackRules ReadTrackRules(const RuleBook& book, const Graph& graph);

}  // namespace msc
