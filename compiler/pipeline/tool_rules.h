#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/score.h"
#include "compiler/compress/rules/rules.h"
#include "compiler/ir/graph.h"
#include "compiler/pipeline/distill.h"
#include "compiler/pipeline/quantize.h"

namespace msc {

// Rules (compress/rules/rules.h) as what the tools are asked for otherwise. Methods go by our names
// or by those of the originals; a method of another tool, an option that it does not have, or a
// stage that the tool does not have is a UserError with the nearest name.

/// A file of rules for one tool ("pruner", "quantizer", "distiller", "tracker"), whose names are
/// looked up in `graph`. UserError naming the file, also if it is for another tool.
[[nodiscard]] RuleBook LoadRules(const std::string& path, const std::string& tool,
                                 const Graph& graph);

/// What rules ask for by options that nothing here turns on: a sentence for each, once.
[[nodiscard]] std::vector<std::string> PassedOver(const RuleBook& book);

/// How every group of channels is scored and cut: by the rule for the weights of its first layer,
/// at stage "prune". Groups without one stay whole.
///   l1, l2, fpgm, random, energy, obs, taylor   {density, align}
///   per_channel                                 {density, stride}: l1, aligned to 8 without stride
/// Counts are rounded to the nearest, not up as the originals do. Rules for outputs are passed
/// over: what follows from a layer follows by itself. UserError where a rule names a layer that
/// cannot be cut, or is cut with another that it is not given for as well.
struct PruneRules {
  PruneRequest request;                         ///< densities and alignments
  std::map<std::string, ScoreMethod> of_group;  ///< of the groups that are cut
};
[[nodiscard]] PruneRules ReadPruneRules(const RuleBook& book, const Graph& graph,
                                        const PruneSpace& space);

/// Puts precisions, bits and ranges into `options`. A layer whose input and weights both have a
/// rule at stage "quantize" is int8; one whose weights alone have one is f32 with these quantized;
/// others stay f32. nbits of -1 is as having none. Those of an input are the activation's, by the
/// first layer that reads it.
///   quantize   quantize_normal, int8 {nbits}; f32; of outputs also dequantize_normal
///   calibrate  calibrate_maxmin, calibrate_kl_divergence, or minmax, percentile {percentile},
///              entropy, mse {affine}; the rest by `options.scales`
///   gather     gather_maxmin, gather_kl_divergence, gather_max_per_channel: nothing to decide,
///              histograms serve every range
/// A rule at stage "default" counts at the stage that has its method.
void ReadQuantizeRules(const RuleBook& book, const Graph& graph, QuantizeOptions& options);

/// Losses of outputs (mark "loss") go to `settings`, those of values inside to the list.
///   loss_lp_norm {power, weight}, loss_kl_divergence {temperature, softmax_dim, weight},
///   attention {power, weight} (values inside alone)
/// The softmax is along the last axis: another softmax_dim is a UserError, and so is a book of
/// which no rule picks anything.
[[nodiscard]] std::vector<DistillFeature> ReadDistillRules(const RuleBook& book, const Graph& graph,
                                                           TrainSettings& settings);

/// Values that rules pick for save_compared, or watch, in graph order.
struct TrackRules {
  std::vector<std::string> all;        ///< at any stage; "baseline" collects and compares nothing
  std::vector<std::string> optimized;  ///< at stage "optimize", compared there
  std::vector<std::string> compiled;   ///< at stage "compile", compared in what is compiled
};
[[nodiscard]] TrackRules ReadTrackRules(const RuleBook& book, const Graph& graph);

}  // namespace msc
