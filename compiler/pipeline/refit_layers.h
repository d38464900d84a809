#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/prune/least_squares.h"
#include "compiler/compress/prune/linear_form.h"
#include "compiler/pipeline/layer_fit.h"
#include "compiler/pipeline/observe.h"

namespace msc {

/// A layer in a graph that was changed up to this layer.
struct ChangedLayer {
  const Graph& graph;  ///< has the layer with its current weights
  WeightedLayer layer;
  LinearForm form;
  const Graph& observed;            ///< the graph that is run; may be `graph`
  std::vector<std::string> inputs;  ///< in `observed`: the layer's input, then the residual if any
};

/// Runs the graph that has a changed layer over the samples, and returns the moments of the layer's
/// inputs and of its wanted outputs, one for each convolution group.
using MomentsOfLayer = std::function<std::vector<LinearMoments>(const ChangedLayer&)>;

/// How RefitLayers fits.
struct LayerRefit {
  const Graph& original;
  const SampleSource& samples;
  const CalibrationRun& run;
  const TargetRegistry& registry;
  std::uint64_t seed = 0;  ///< selects the positions
  /// Layers after which the activations of the changed graph are cached anew. A run of fewer layers
  /// starts nearer to them, and `changed` is asked for more often.
  std::size_t layers_a_stage = 8;
  /// Returns the number of output positions per sample that a layer is fitted to.
  std::function<std::int64_t(const LayerFit&)> positions;
  /// Returns how many of these layers, from the first on, keep their wanted outputs at a time.
  std::function<std::size_t(std::span<const LayerFit>)> together;
  /// Returns what the changed layer shall compute instead of these rows of the original's outputs.
  std::function<std::vector<float>(const LayerFit&, std::vector<float> rows)> wanted;
  /// Changes the layer.
  std::function<void(const LayerFit&, const MomentsOfLayer&)> fit;
  /// Returns the graph as it was changed so far. What it computes in front of the layers to come is
  /// what the finished graph computes there.
  std::function<Graph()> changed;
};

/// Fits layers in order, each to what it computes in the original graph. One run of the original
/// over the samples gives the wanted outputs of several layers; a run of the changed graph gives
/// the inputs of each. Runs start from activations that were cached a few layers before, on disk,
/// unless these take more than run.cached_bytes. Calls `progress` with the fraction done, in [0,
/// 1].
void RefitLayers(const LayerRefit& refit, std::span<const LayerFit> layers,
                 const std::function<void(double)>& progress);

/// Returns the bias that gives the outputs of a layer with these weights their wanted mean.
[[nodiscard]] std::vector<float> MeanBias(const LinearMoments& moments,
                                          std::span<const float> weights);

}  // namespace msc
