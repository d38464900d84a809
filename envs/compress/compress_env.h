#pragma once

#include <map>
#include <memory>
#include <string>

#include "envs/common/strategy_problem.h"
#include "envs/compress/compress_config.h"
#include "envs/partition/place_choices.h"
#include "envs/prune/prune_env.h"
#include "envs/quantize/quantize_choices.h"
#include "envs/schedule/schedule_choices.h"

namespace msc::envs {

/// The model of a joint problem.
struct CompressContext : QuantizeContext, ChannelContext, KernelContext {
  CompressConfig compress = {};
  /// `unsupported` for each of compress.targets, by spec.
  std::map<std::string, UnsupportedPrecisions> unsupported_on = {};
};

/// Returns the targets to choose from in a joint problem.
[[nodiscard]] PlaceContext PlacesOf(const CompressContext& context);

/// Makes the problem of "Compress-v0": one search for the channels to keep in every group and the
/// precision of every layer. It has the decisions of Prune-v0 and Quantize-v0 in the order of the
/// network, those of a group right before those of its first layer.
///
/// If the context's CompressConfig has targets, the target of each piece of the model is a decision
/// too (PlaceChoices), before all others about the first layer of the piece. A precision that the
/// target of a layer does not support itself is masked out; precisions that no target supports are
/// not among the choices.
///
/// If it has schedules, the schedules of kernels are decisions right after those about the first
/// layer of each (ScheduleChoices); a layer gets its schedule if it supports it after the other
/// decisions.
///
/// If it has epochs, the recipe for training the compressed model on the calibration samples is
/// decided after all layers (TrainChoices); with 0 epochs, all but the first choices of the other
/// settings are masked out.
///
/// A precision has the name of its layer, a density "LAYER channels". The decisions of Quantize-v0
/// about all layers follow those about single layers; the alignment is the last decision. Layers
/// whose channels are tied form one group and share one density. At least one unit of every group
/// stays, so every layer has a precision to choose. If there are calibration samples, a strategy
/// that prunes has its weights and scales fitted to them (FitPlan), as the ranges of the whole
/// model do not hold for the pruned one.
///
/// Anchors: all f32; all int8, and int8 at densities 0.75 and 0.5, for each number of bits; half of
/// the channels in int8, trained for the largest number of epochs; f32, and int8 as far as
/// supported, on each of the other targets alone.
///
/// Features of a decision, each in [0, 1]: its kind (1 density, 0.75 schedule, 0.5 target, 0.25
/// recipe, 0 for the decisions of Quantize-v0); then the features of Prune-v0, ScheduleChoices,
/// PlaceChoices or Quantize-v0 (1 for a recipe), padded with 0. Throws UserError if the context
/// lacks a model or an evaluator, or the model has nothing to prune or no layer to quantize.
[[nodiscard]] std::unique_ptr<StrategyProblem> MakeCompressProblem(const CompressContext& context);

}  // namespace msc::envs
