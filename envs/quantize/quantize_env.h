#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/strategy/strategy.h"
#include "envs/common/strategy_problem.h"
#include "envs/quantize/quantize_choices.h"

namespace msc::envs {

/// Makes the problem of "Quantize-v0": the precision of every Conv, Gemm and MatMul with constant
/// weights, in graph order.
///
/// One decision per layer, out of f32, bf16 and int8 as far as layer and target support them. The
/// context's QuantizeConfig may add int8 with fewer bits per weight ("w4a8"), and the choice of
/// range methods and of weight rounding (QuantizeChoices). Layers after the config's first_layers
/// are f32 and have no decision. Anchors: all f32, all int8 for each number of bits, all bf16.
///
/// Features of a layer, each in [0, 1]: position in the network, share of multiply-adds, share of
/// weights, kernel size / 8, input and output channels / 4096. For tied layers (TiedLayers) the
/// shares are added up; a decision about all layers has position 1 and else 0. Throws UserError if
/// the context lacks a model or an evaluator, or the model has no such layer.
[[nodiscard]] std::unique_ptr<StrategyProblem> MakeQuantizeProblem(const QuantizeContext& context);

/// Returns the model's quantizable layers, each with the precisions to choose from.
[[nodiscard]] std::vector<QuantizableLayer> OfferedLayers(const QuantizeContext& context);

/// Returns a row of features for each layer, as described at MakeQuantizeProblem.
[[nodiscard]] std::vector<std::vector<double>> LayerFeatures(
    const Graph& canonical, const std::vector<QuantizableLayer>& layers);

/// Returns the strategy for `choices`, one precision per layer in the order of
/// FindQuantizableLayers, with those of the context's scales that its int8 layers need.
[[nodiscard]] Strategy MakeQuantizeStrategy(const QuantizeContext& context,
                                            const std::vector<QuantizableLayer>& layers,
                                            const std::vector<Precision>& choices,
                                            const std::string& model_hash);

}  // namespace msc::envs
