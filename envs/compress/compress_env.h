#pragma once

#include <memory>

#include "envs/register.h"
#include "gym/core/env.h"

namespace msc::envs {

/// "Compress-v0": how many channels stay of every group, and the precision of every layer, in one
/// search: the decisions of Prune-v0 and Quantize-v0 in the order of the network, a group's right
/// before its first layer's.
///
/// Where the context's offer has targets, who runs which piece of the model is decided, too
/// (PlaceChoices), before all about the piece's first layer. A precision that the target of its
/// layer does not compute itself is ruled out; precisions that no target has are not offered.
///
/// Where it has schedules, kernels may be written as is decided right behind the first of their
/// layers (ScheduleChoices): as far as layers can have them by then.
///
/// Where it has epochs, the recipe by which what is left is trained on the calibration samples is
/// decided behind all layers (TrainChoices); without epochs other ingredients are ruled out.
///
/// A precision is named like its layer, a density "LAYER channels"; what Quantize-v0 decides about
/// all layers comes behind those, the alignment last. Layers whose channels are tied share one
/// density, being one group; at least a unit of every group stays, so that every layer has a
/// precision to choose. A strategy that prunes has its weights and its scales fitted to the
/// context's calibration samples where it has some (FitPlan): the ranges of the whole model are not
/// those of the pruned one.
///
/// Anchors: all in int8, all in int8 at densities 0.75 and 0.5, with so many bits each as are
/// offered, all in f32; half of the channels in int8, trained as long as can be; f32, and int8 as
/// far as it has that, on each of the other targets alone.
///
/// Features of a decision, each in [0, 1]: 1 for a density, 0.75 for a schedule, 0.5 for a target,
/// 0.25 for a recipe's, 0 for what Quantize-v0 decides; then those of Prune-v0, ScheduleChoices,
/// PlaceChoices or Quantize-v0 (of a recipe 1), filled up with 0. The reward is theirs. UserError
/// if the context lacks a model or an evaluator, or the model has nothing to prune or no layer to
/// quantize.
[[nodiscard]] std::unique_ptr<gym::Env> MakeCompressEnv(const EnvContext& context);

}  // namespace msc::envs
