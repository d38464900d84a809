#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc::gym {

/// Layers at one end of a model.
struct EndLayers {
  std::vector<std::string> names = {};  ///< in graph order
  double share = 0;                     ///< of the work of all layers that can be quantized
};

/// The layers that no other quantizable layer precedes, and those that none follows.
struct BothEnds {
  EndLayers first;
  EndLayers last;
  /// By layer, the share of the time of all that can be quantized, if a byte takes as long as ten
  /// operations, which is about the balance of CPUs.
  std::map<std::string, double> work = {};
  double flops = 0;  ///< of all that can be quantized, for these inputs
};

/// Finds the ends of a canonical graph. `inputs` are those of one call, which decide the shapes.
[[nodiscard]] BothEnds FindEnds(const Graph& canonical, std::span<const Tensor> inputs);

/// Chooses the ends that stay in f32 because it pays: they do less than 2 % of the work, and the
/// loss falls by a quarter or more. `loss` returns the loss of the model with all layers quantized
/// except these; it is called at most three times.
[[nodiscard]] std::set<std::string> ChooseFloatEnds(
    const BothEnds& ends, const std::function<double(const std::set<std::string>& kept)>& loss);

}  // namespace msc::gym
