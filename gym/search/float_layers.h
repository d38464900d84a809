#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace msc::gym {

/// A quantized model, some of whose layers may have to stay in floating point.
struct FloatLayersTask {
  std::vector<std::string> layers;  ///< quantized ones, in graph order
  /// Shares of the model's work, by layer; those missing, or all if empty, are equal.
  std::map<std::string, double> work = {};
  double most_work = 1;  ///< share of the work that may stay in floating point
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
  std::vector<FloatLayer> kept;  ///< in the order of their ranking
  double loss_before = 0;        ///< all layers are quantized
  double loss_after = 0;         ///< without `kept`
  /// Whether the loss is at most 1. If not, more work would have to stay in floating point.
  bool suffices = true;
  std::size_t ranked = 0;  ///< layers that were quantized alone
};

/// Chooses the layers that stay in floating point so that the loss is at most 1: the first k of a
/// ranking, with the least k that bisection finds; as many as `most_work` admits if those do not
/// suffice. Layers are ranked by the rough loss of quantizing each alone and, if their work is
/// known, also by this loss for their work; of two choices that suffice, the one with less work is
/// taken, else the one that loses less. If ranking is stopped, layers not ranked count as harmless.
/// Quantization errors of layers add up nearly independently, so the loss falls with k in practice.
/// Takes at most layers + 2 log2(layers) + 5 evaluations; one if all layers may be quantized.
[[nodiscard]] FloatLayers ChooseFloatLayers(const FloatLayersTask& task);

}  // namespace msc::gym
