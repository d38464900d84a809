#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace msc::gym {

/// A quantized model, some of whose layers may have to stay in floating point.
struct FloatLayersTask {
  std::vector<std::string> layers;  ///< quantized ones, in graph order
  /// Returns the loss, relative to its bound, of the model with all these layers quantized except
  /// `kept`: at most 1 if it is accepted, infinity if it fails.
  std::function<double(const std::set<std::string>& kept)> loss;
  /// Returns an approximation of loss() that costs less, to rank layers by.
  std::function<double(const std::set<std::string>& kept)> rough_loss;
  /// Called before each evaluation of a loss with the number of those done and the largest number
  /// there may be; returns false to stop ranking.
  std::function<bool(std::size_t done, std::size_t most)> progress;
};

/// A layer that stays in floating point.
struct FloatLayer {
  std::string name;
  double loss_alone = 0;  ///< rough loss of the model with this layer alone quantized
};

struct FloatLayers {
  std::vector<FloatLayer> kept;  ///< from the most harmful on
  double loss_before = 0;        ///< all layers are quantized
  double loss_after = 0;         ///< without `kept`
  std::size_t ranked = 0;        ///< layers that were quantized alone
};

/// Chooses the layers that stay in floating point so that the loss is at most 1: the k most harmful
/// ones, with the least k that bisection finds. Layers are ranked by the rough loss of quantizing
/// each alone; if ranking is stopped, those not ranked count as harmless. Quantization errors of
/// layers add up nearly independently, so the loss falls with k in practice. Takes at most
/// layers + log2(layers) + 2 evaluations; one if all layers may be quantized.
[[nodiscard]] FloatLayers ChooseFloatLayers(const FloatLayersTask& task);

}  // namespace msc::gym
