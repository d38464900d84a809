#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/strategy/strategy.h"
#include "envs/register.h"
#include "gym/core/env.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// "Quantize-v0": the precision of every Conv, Gemm and MatMul with constant weights, in graph
/// order.
///
/// One decision a layer, out of f32, bf16 and int8 as far as layer and target allow; where the
/// context's offer has more, int8 with fewer bits a weight ("w4a8"), and how ranges are chosen and
/// weights rounded (QuantizeChoices). Layers behind the offer's first_layers are f32, undecided.
/// Anchors all-int8, with so many bits each, all-bf16, all-f32. Features of a layer, each in [0,
/// 1]: place in the network, share of multiply-adds, share of weights, kernel size / 8, input and
/// output channels / 4096, of layers that are tied (TiedLayers) the sums of shares; of a decision
/// about all layers place 1 and 0 for the rest. The reward of the last step is -(latency ratio) -
/// distill_loss. UserError if the context lacks a model or an evaluator, or the model has no such
/// layer.
[[nodiscard]] std::unique_ptr<gym::Env> MakeQuantizeEnv(const EnvContext& context);

/// The model's layers, each with the precisions that the context offers it.
[[nodiscard]] std::vector<QuantizableLayer> OfferedLayers(const EnvContext& context);

/// A row of features for each layer, as that env shows them.
[[nodiscard]] std::vector<std::vector<double>> LayerFeatures(
    const Graph& canonical, const std::vector<QuantizableLayer>& layers);

/// The strategy that `choices` (a precision a layer, in the order of FindQuantizableLayers) stands
/// for: of the context's scales, those that its int8 layers need.
[[nodiscard]] Strategy MakeQuantizeStrategy(const EnvContext& context,
                                            const std::vector<QuantizableLayer>& layers,
                                            const std::vector<Precision>& choices,
                                            const std::string& model_hash);

}  // namespace msc::envs
